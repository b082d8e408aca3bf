"""Devices of each kind: memory, compilers, launches and properties."""
