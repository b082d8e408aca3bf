"""The ladder of `linear`."""
