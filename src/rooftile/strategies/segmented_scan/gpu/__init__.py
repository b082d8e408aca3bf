"""The GPU ladder of `segmented_scan`."""
