"""The CPU's ladder of `record_mean`."""
