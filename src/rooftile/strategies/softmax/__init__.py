"""The ladder of `softmax`."""
