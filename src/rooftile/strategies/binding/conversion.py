"""Arrays as callers have them, brought to what kernels take, and results back, on the stream.

A caller's array may be of another type of number than a kernel's, and its channels may be the last
axis in memory (``channels_last``) where a kernel's come before the pixels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from rooftile.devices.gpu import Argument, Launch
from rooftile.devices.launches import Call
from rooftile.ops import Array

_THREADS = 256
FORMATS = {"float32": "FLOAT32", "float16": "FLOAT16", "bfloat16": "BFLOAT16"}
"""Types of numbers in the words of ``common/source.h``."""
_BLOCK = (_THREADS, 1, 1)
_RUN, _RUNS = 4, 4
"""Neighbours that a thread takes at once, and how often it does where axes stay."""
_TILE, _MOST_CHANNELS = 4096, 64
"""Elements of a block that exchanges axes, and how many channels it has of more."""


@dataclass(frozen=True)
class Form:
    """An array's storage in memory."""

    dtype: str = "float32"
    channels_last: bool = False
    """True if x[items, channels, height, width] has its channels last in memory."""

    @property
    def words(self) -> str:
        """As `Problem.stored` takes it."""
        return f"{self.dtype}:channels_last" if self.channels_last else self.dtype


class Adapter:
    """The launches around a strategy's own, where a caller's arrays have other forms."""

    def __init__(
        self, device: Any, arrays: Sequence[Array], forms: Mapping[str, Form] = MappingProxyType({})
    ) -> None:
        """``arrays`` are as kernels take them; ``forms`` tells what is otherwise at the caller."""
        self.before: list[Call] = []
        """They bring inputs and parameters to what kernels take."""
        self.after: list[Call] = []
        """They bring outputs to what the caller takes."""
        self.temporaries: dict[str, int] = {}
        """float32 elements of the arrays between both."""
        self.names = [self._name(device, array, forms) for array in arrays]
        """The launches' names of the caller's arrays."""

    def _name(self, device: Any, array: Array, forms: Mapping[str, Form]) -> str:
        taken = Form(array.dtype, array.channels_last)
        has = forms.get(array.name, taken)
        if has == taken:
            return array.name
        self.temporaries[array.name] = -(-array.nbytes // 4)
        name = f"the caller's {array.name}"
        if array.role == "output":
            self.after.append(conversion(device, array.shape, array.name, taken, name, has))
        else:
            self.before.append(conversion(device, array.shape, name, has, array.name, taken))
        return name


def conversion(
    device: Any,
    shape: tuple[int, ...],
    source: Argument,
    given: Form,
    target: Argument,
    wanted: Form,
) -> Call:
    """The launch that brings array ``source`` to array ``target``: buffers or names of such."""
    launch, sizes = _launch(shape, given, wanted)
    formats = {"FROM": FORMATS[given.dtype], "TO": FORMATS[wanted.dtype]}
    macros = {**formats, "FROM_LAST": int(given.channels_last), **_tile(shape)}
    if given.channels_last == wanted.channels_last:
        macros["LAST_RUN"] = _run(math.prod(shape))
    program = device.compile(_text(), macros, [Path(__file__).parent.parent])
    return Call(program, launch, (source, target, *sizes))


def _launch(shape: tuple[int, ...], given: Form, wanted: Form) -> tuple[Launch, tuple[Any, ...]]:
    count = math.prod(shape)
    if given.channels_last == wanted.channels_last:
        of_block = _RUNS * _THREADS * _run(count)
        grid = (-(-count // of_block), 1, 1)
        return Launch("convert", grid, _BLOCK, overlaps=True), (np.int64(count),)
    items, channels, height, width = shape
    tile, pixels = _tile(shape), height * width
    across, deep = -(-pixels // tile["PIXELS"]), -(-channels // tile["CHANNELS"])
    grid = (items * across, deep, 1)
    return Launch("exchange", grid, _BLOCK, overlaps=True), (np.int32(pixels), np.int32(channels))


def _tile(shape: tuple[int, ...]) -> dict[str, int]:
    """Pixels and channels of a block, and how many neighbours a thread takes at once."""
    if len(shape) != 4:
        return {"PIXELS": 1, "CHANNELS": 1, "PLANE_RUN": 1, "LAST_RUN": 1}
    _, channels, height, width = shape
    pixels, deep = height * width, min(channels, _MOST_CHANNELS)
    # Runs over several pixels are possible where a tile has all channels.
    last = pixels * channels if deep == channels else math.gcd(channels, deep)
    across = 4 * min(_TILE // (4 * deep), -(-pixels // 4))
    return {
        "PIXELS": across,
        "CHANNELS": deep,
        "PLANE_RUN": _run(pixels),
        "LAST_RUN": _run(last),
    }


def _run(length: int) -> int:
    """Number of neighbours that are taken at once, of runs of this length."""
    return _RUN if length % _RUN == 0 else 1


@cache
def _text() -> str:
    return (Path(__file__).parent.parent / "common" / "convert.cu").read_text(encoding="utf-8")
