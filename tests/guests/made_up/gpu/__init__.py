"""The rungs of GPUs."""
