"""A machine's ceilings: rates and bandwidths, measured."""
