"""The GPU ladder of `elementwise`."""
