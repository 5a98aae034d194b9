"""Type stubs from the op registry: `python -m relume.tensor.stubs` writes them."""
