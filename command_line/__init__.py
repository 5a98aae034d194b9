"""The command `relume`."""

from relume.command_line.app import main

__all__ = ["main"]
