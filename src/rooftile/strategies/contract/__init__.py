"""The contract of strategies: the base classes of rungs, on the CPU and on GPUs."""
