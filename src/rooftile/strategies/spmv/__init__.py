"""Strategies of `spmv`."""
