"""Strategies of `record_mean`."""
