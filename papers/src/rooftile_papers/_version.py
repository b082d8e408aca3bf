"""The version, that of the rooftile in the same repository."""

__version__ = "0.1.0"
