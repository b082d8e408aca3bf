"""Kernels of the CPU that `linear` and `matmul` share."""
