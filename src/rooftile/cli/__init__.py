"""The command ``rooftile``: it parses, calls and prints, and nothing else.

What computes is imported inside the commands, so that ``--help`` answers at once.
"""

from rooftile.cli._main import main

__all__ = ["main"]
