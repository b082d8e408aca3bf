"""rooftile: convolutional networks and parallel patterns, up to the hardware's roof."""

__version__ = "0.1.0"
