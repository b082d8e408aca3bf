"""The CPU's ladder of `gather_batch`."""
