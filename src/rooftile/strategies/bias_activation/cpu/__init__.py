"""The CPU's ladder of `bias_activation`."""
