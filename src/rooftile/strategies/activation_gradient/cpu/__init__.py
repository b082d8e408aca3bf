"""The CPU's ladder of `activation_gradient`."""
