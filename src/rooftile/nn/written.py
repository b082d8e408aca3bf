"""A network's layers as text, so that a file of weights says what network it is of."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Protocol

from rooftile.errors import InputError
from rooftile.nn.data.pixels import Pixels
from rooftile.nn.layers import ConvLayer, Layer, LinearLayer, Shape
from rooftile.ops import Pool

ARCHITECTURE_KEY = "architecture"
"""Key of a weight file's metadata that holds the text."""
_KINDS: dict[str, type[ConvLayer] | type[LinearLayer]] = {
    "conv": ConvLayer,
    "linear": LinearLayer,
}


class Described(Protocol):
    """What is written of a network."""

    @property
    def input_shape(self) -> Shape:
        """Channels, height and width of an image, or the number of features."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers in a row."""

    @property
    def pixels(self) -> Pixels | None:
        """How images of uint8 become numbers."""


def written(network: Described) -> str:
    """The input's shape, the layers and the pixels as JSON."""
    names = {kind: name for name, kind in _KINDS.items()}
    found = {
        "input_shape": network.input_shape,
        "layers": [{"kind": names[type(layer)], **_fields(layer)} for layer in network.layers],
        "pixels": dataclasses.asdict(network.pixels) if network.pixels is not None else None,
    }
    return json.dumps(found)


def _fields(layer: Layer) -> dict[str, Any]:
    """A layer's fields; how weights are drawn only where the layer says it, as in older files."""
    fields = dataclasses.asdict(layer)
    if layer.init is None:
        del fields["init"]
    return fields


def read(text: str, where: str) -> tuple[Shape, tuple[Layer, ...], Pixels | None]:
    """The input's shape, the layers and the pixels of such a text.

    Raises `InputError`, which names ``where`` it is from, for another text.
    """
    try:
        found = json.loads(text)
        shape = tuple(found["input_shape"])
        layers = tuple(_layer(one) for one in found["layers"])
        numbers = found["pixels"]
        pixels = (
            Pixels(**{name: tuple(many) for name, many in numbers.items()}) if numbers else None
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"an architecture that cannot be read ({type(error).__name__}: {error})"
        raise InputError(where, what, "what a network's save writes") from error
    return shape, layers, pixels


def _layer(found: dict[str, Any]) -> Layer:
    fields = {name: value for name, value in found.items() if name != "kind"}
    if fields.get("pool") is not None:
        pool = fields["pool"]
        fields["pool"] = Pool.of(
            pool["kind"], tuple(pool["window"]), tuple(pool["stride"]), pool["activation"]
        )
    return _KINDS[found["kind"]](**fields)
