"""The CPU's ladder of `optimiser_step`."""
