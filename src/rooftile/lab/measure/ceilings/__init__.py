"""What a machine can do at most: rates and bandwidths, measured."""
