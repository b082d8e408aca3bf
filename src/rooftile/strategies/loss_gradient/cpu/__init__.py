"""The CPU's ladder of `loss_gradient`."""
