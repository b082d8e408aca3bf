"""Strategies of `spmm`."""
