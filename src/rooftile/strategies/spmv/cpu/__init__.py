"""The CPU's ladder of `spmv`."""
