"""The GPU ladder of `stencil`."""
