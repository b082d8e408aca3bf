"""What a strategy states: the base classes of rungs, on the CPU and on GPUs."""
