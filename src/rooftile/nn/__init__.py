"""What for: layers, networks, plans, training, data sets, built-in models.

They are imported on first use (PEP 562): data are read while networks are still imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rooftile._lazy import attribute, names

if TYPE_CHECKING:
    from rooftile.nn.data import Pixels, Standardisation
    from rooftile.nn.interface import Interface
    from rooftile.nn.layers import ConvLayer, Layer, LinearLayer
    from rooftile.nn.models import MODELS, architecture, load
    from rooftile.nn.network import Network
    from rooftile.nn.plan import Plan

__all__ = [
    "MODELS", "ConvLayer", "Interface", "Layer", "LinearLayer", "Network", "Pixels", "Plan",
    "Standardisation", "architecture", "load",
]  # fmt: skip
_PLACES = {
    "MODELS": f"{__name__}.models",
    "ConvLayer": f"{__name__}.layers",
    "Interface": f"{__name__}.interface",
    "Layer": f"{__name__}.layers",
    "LinearLayer": f"{__name__}.layers",
    "Network": f"{__name__}.network",
    "Pixels": f"{__name__}.data.pixels",
    "Plan": f"{__name__}.plan",
    "Standardisation": f"{__name__}.data.standardisation",
    "architecture": f"{__name__}.models",
    "load": f"{__name__}.models",
}


def __getattr__(name: str) -> Any:
    return attribute(__name__, _PLACES, name)


def __dir__() -> list[str]:
    return names(__name__, _PLACES)
