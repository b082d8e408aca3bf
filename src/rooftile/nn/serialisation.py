"""A network's layers as text, so that a file of weights says what network it is of."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from rooftile.errors import InputError
from rooftile.nn.data.pixels import Pixels
from rooftile.nn.data.standardisation import Standardisation
from rooftile.nn.interface import Task
from rooftile.nn.layers import ConvLayer, Layer, LinearLayer, Shape
from rooftile.ops import Pool

ARCHITECTURE_KEY = "architecture"
"""Key of a weight file's metadata that holds the text."""
STANDARDISATION_KEY = "standardisation"
"""Key of older files' metadata that holds the means and deviations of a table's features."""
_KINDS: dict[str, type[ConvLayer] | type[LinearLayer]] = {
    "conv": ConvLayer,
    "linear": LinearLayer,
}


class WrittenNetwork(Protocol):
    """The parts of a network that are written to a file."""

    @property
    def input_shape(self) -> Shape:
        """Channels, height and width of an image, or the number of features."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers in a row."""

    @property
    def pixels(self) -> Pixels | None:
        """The conversion of images of uint8 to numbers."""

    @property
    def standardisation(self) -> Standardisation | None:
        """The standardisation of rows of features."""

    @property
    def task(self) -> Task | None:
        """The meaning of the outputs."""


def to_text(network: WrittenNetwork) -> str:
    """The input's shape, the layers, and how inputs are prepared and outputs read, as JSON."""
    names = {kind: name for name, kind in _KINDS.items()}
    found: dict[str, Any] = {
        "input_shape": network.input_shape,
        "layers": [{"kind": names[type(layer)], **_fields(layer)} for layer in network.layers],
        "pixels": dataclasses.asdict(network.pixels) if network.pixels is not None else None,
    }
    # Files of networks that have none of both stay as they were.
    if network.standardisation is not None:
        found["standardisation"] = dataclasses.asdict(network.standardisation)
    if network.task is not None:
        found["task"] = network.task
    return json.dumps(found)


def _fields(layer: Layer) -> dict[str, Any]:
    """A layer's fields; how weights are drawn only where the layer says it, as in older files."""
    fields = dataclasses.asdict(layer)
    if layer.init is None:
        del fields["init"]
    return fields


def from_text(text: str, where: str) -> tuple[Shape, tuple[Layer, ...]]:
    """The input's shape and the layers of such a text.

    Raises `InputError`, which names ``where`` it is from, for another text.
    """
    with _readable(where):
        found = json.loads(text)
        return tuple(found["input_shape"]), tuple(_layer(one) for one in found["layers"])


def metadata_of(metadata: Mapping[str, str], where: str) -> dict[str, Any]:
    """The fields ``pixels``, ``standardisation`` and ``task`` of a network as far as its file's
    metadata has them.

    Raises `InputError`, which names ``where`` they are from, for metadata that cannot be read.
    """
    with _readable(where):
        found = json.loads(metadata.get(ARCHITECTURE_KEY, "{}"))
        # Tables' networks once kept theirs in a key of its own.
        old = metadata.get(STANDARDISATION_KEY)
        made: dict[str, Any] = {}
        if found.get("pixels"):
            made["pixels"] = Pixels(**found["pixels"])
        if numbers := found.get("standardisation") or (json.loads(old) if old else None):
            made["standardisation"] = Standardisation(**numbers)
        if found.get("task"):
            made["task"] = found["task"]
        return made


@contextmanager
def _readable(where: str) -> Iterator[None]:
    """Errors of a text that is none of ours are `InputError`, which names the file."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"an architecture that cannot be read ({type(error).__name__}: {error})"
        raise InputError(where, what, "what a network's save writes") from error


def _layer(found: dict[str, Any]) -> Layer:
    fields = {name: value for name, value in found.items() if name != "kind"}
    if fields.get("pool") is not None:
        pool = fields["pool"]
        fields["pool"] = Pool.of(
            pool["kind"], tuple(pool["window"]), tuple(pool["stride"]), pool["activation"]
        )
    return _KINDS[found["kind"]](**fields)
