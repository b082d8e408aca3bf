"""The CPU's ladder of `segmented_scan`."""
