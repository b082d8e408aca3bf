"""The CPU's ladder of `matmul`."""
