"""The ladder of `stencil`."""
