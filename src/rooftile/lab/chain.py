"""The former place of `rooftile.ops.chain`."""

from rooftile.ops.chain import Chain, layers_of

__all__ = ["Chain", "layers_of"]
