"""The GPU ladder of `separable`."""
