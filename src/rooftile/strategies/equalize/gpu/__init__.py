"""The GPU ladder of `equalize`."""
