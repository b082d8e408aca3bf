"""Strategies of `argreduce`."""
