"""The CPU's ladder of `spmm`."""
