"""The CPU's ladder of `permute_columns`."""
