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

from rooftile.devices.gpu import Launch
from rooftile.devices.launches import Call
from rooftile.ops import Array

_THREADS = 256
_FORMATS = {"float32": "FLOAT32", "float16": "FLOAT16", "bfloat16": "BFLOAT16"}
_TILE = 2048
"""Elements of a block that exchanges axes."""


@dataclass(frozen=True)
class Form:
    """How an array lies in memory."""

    dtype: str = "float32"
    channels_last: bool = False
    """Whether x[items, channels, height, width] has its channels last in memory."""


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
        """What launches call the caller's arrays."""

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
    device: Any, shape: tuple[int, ...], source: str, given: Form, target: str, wanted: Form
) -> Call:
    """The launch that brings array ``source`` to array ``target``, both names of buffers."""
    launch, sizes = _launch(shape, given, wanted)
    macros = {"FROM": _FORMATS[given.dtype], "TO": _FORMATS[wanted.dtype]}
    pixels, channels = _tile(shape)
    program = device.compile(_text(), {**macros, "PIXELS": pixels, "CHANNELS": channels})
    return Call(program, launch, (source, target, *sizes))


def _launch(shape: tuple[int, ...], given: Form, wanted: Form) -> tuple[Launch, tuple[Any, ...]]:
    count = math.prod(shape)
    if given.channels_last == wanted.channels_last:
        grid = (-(-count // (4 * _THREADS)), 1, 1)
        return Launch("convert", grid, (_THREADS, 1, 1)), (np.int64(count),)
    items, channels, height, width = shape
    across, deep = _tile(shape)
    grid = (items * -(-(height * width) // across), -(-channels // deep), 1)
    name = "planes" if given.channels_last else "pixels"
    return Launch(name, grid, (_THREADS, 1, 1)), (np.int32(height * width), np.int32(channels))


def _tile(shape: tuple[int, ...]) -> tuple[int, int]:
    """Pixels and channels of a block: all channels where they are few."""
    channels = min(64, 1 << (shape[1] - 1).bit_length()) if len(shape) == 4 else 1
    return _TILE // max(channels, 8), channels


@cache
def _text() -> str:
    return (Path(__file__).parent / "common" / "convert.cu").read_text(encoding="utf-8")
