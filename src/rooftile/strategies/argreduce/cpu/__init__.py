"""The CPU's ladder of `argreduce`."""
