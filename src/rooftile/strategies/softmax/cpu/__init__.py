"""The CPU's ladder of `softmax`."""
