"""Fewer multiplications by Toom-Cook transforms."""
