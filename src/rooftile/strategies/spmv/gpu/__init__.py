"""The GPU ladder of `spmv`."""
