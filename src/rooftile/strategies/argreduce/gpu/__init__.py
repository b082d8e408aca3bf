"""The GPU ladder of `argreduce`."""
