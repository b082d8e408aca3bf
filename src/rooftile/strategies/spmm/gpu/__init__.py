"""The GPU ladder of `spmm`."""
