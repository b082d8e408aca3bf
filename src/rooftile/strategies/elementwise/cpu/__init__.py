"""The CPU's ladder of `elementwise`."""
