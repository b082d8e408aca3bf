"""The CPU's ladder of `stencil`."""
