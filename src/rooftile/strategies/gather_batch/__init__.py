"""Strategies of `gather_batch`."""
