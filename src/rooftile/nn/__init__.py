"""What for: layers, networks, plans, training, data sets, built-in models."""

from rooftile.nn.data import Pixels
from rooftile.nn.layers import ConvLayer, Layer, LinearLayer
from rooftile.nn.models import MODELS, architecture, load
from rooftile.nn.network import Network
from rooftile.nn.plan import Plan

__all__ = [
    "MODELS", "ConvLayer", "Layer", "LinearLayer", "Network", "Pixels", "Plan", "architecture",
    "load",
]  # fmt: skip
