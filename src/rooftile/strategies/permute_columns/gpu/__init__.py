"""The GPU ladder of `permute_columns`."""
