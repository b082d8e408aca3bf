"""The rungs of the CPU."""
