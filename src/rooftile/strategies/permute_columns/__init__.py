"""Strategies of `permute_columns`."""
