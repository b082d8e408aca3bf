"""The strategies of `matmul`."""
