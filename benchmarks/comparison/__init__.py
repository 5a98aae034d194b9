"""Compares relume with PyTorch: cases by topic, timing, tables and plots. See ../run.py."""
