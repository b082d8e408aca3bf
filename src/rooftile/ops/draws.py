"""Random numbers in the distributions that users' problems have: sizes, channels, masks, axes."""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import numpy as np

from rooftile.ops.features import SIZE

P = TypeVar("P")

CHANNELS = (1, 3, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 160, 192, 256, 384, 512)
"""Numbers of channels and maps, common and odd."""
_BATCHES = (1, 1, 2, 8, 32, 64, 128)
_MASKS, _STRIDES = (1, 3, 3, 3, 5, 7), (1, 1, 1, 2)
_SHARE_KEPT = 0.7
"""Probability that a dtype, an operator or a switch stays the named problem's."""
LEAST_BYTES = 4096
"""Smaller problems cost what their calls cost."""


class Draw:
    """One draw: random numbers in the distributions of sizes, channels, masks and choices."""

    def __init__(self, generator: np.random.Generator, most_bytes: float) -> None:
        self._generator, self.most_bytes = generator, most_bytes

    def one(self, values: Sequence[P]) -> P:
        """One of some values, each equally often."""
        return values[int(self._generator.integers(len(values)))]

    def flip(self, share: float) -> bool:
        return bool(self._generator.random() < share)

    def size(self, least: int, most: int) -> int:
        """A whole number between two, whose logarithm is uniform; half of them are aligned: to 8,
        to 32, or to a power of two."""
        drawn = math.exp(self._generator.uniform(math.log(least), math.log(most + 1)))
        whole = max(least, min(most, int(drawn)))
        if self.flip(0.5):
            return whole
        aligned = self.one((whole // 8 * 8, whole // 32 * 32, 1 << whole.bit_length() - 1))
        return aligned if least <= aligned <= most else whole

    def shape(self, most_axes: int, least_axes: int = 1) -> tuple[int, ...]:
        """The sizes of the axes of an array of 4 kB or more within the limit of bytes."""
        count = self.one(range(least_axes, most_axes + 1))
        while True:
            most = int(self.most_bytes // 4) if count == 1 else 4096
            sizes = tuple(self.size(2, most) for _ in range(count))
            if LEAST_BYTES <= 4 * math.prod(sizes) <= self.most_bytes:
                return sizes

    def matrix(self) -> dict[str, Any]:
        """The sizes of a sparse matrix, whose rows have one length or all lengths."""
        rows, columns = self.size(64, 2**19), self.size(64, 2**19)
        entries = rows * self.size(1, min(256, columns))
        pattern = self.one(("random", "even"))
        return {"rows": rows, "columns": columns, "entries": entries, "pattern": pattern}

    def fields(self, problem: Any) -> dict[str, Any]:
        """New values for the fields of a problem, by their types and names."""
        hints, found = _hints(problem.__class__), {}
        mask, square = self.one(_MASKS), self.flip(_SHARE_KEPT)
        spatial = {"mask": mask, "padding": self.one((0, mask // 2)), "stride": self.one(_STRIDES)}
        for field in dataclasses.fields(problem):
            name, own = field.name, getattr(problem, field.name)
            if name == "dilation":
                continue
            if name in spatial and isinstance(own, tuple):
                found[name] = (spatial[name],) * len(own)
            elif name == "width" and "height" in found and square:
                found[name] = found["height"]
            elif field.metadata != SIZE and name not in ("shape", "axis", "axes"):
                found[name] = self._value(problem, name, own, hints[name])
        if "shape" in hints:
            found |= self._axes(problem, hints)
        return found

    def _axes(self, problem: Any, hints: Mapping[str, Any]) -> dict[str, Any]:
        """The shape of an array, and which of its axes a problem goes along."""
        if "axes" in hints:
            shape = self.shape(4, 2)
            order = self._generator.permutation(len(shape))
            return {"shape": shape, "axes": tuple(map(int, order))}
        shape = self.shape(3)
        if "axis" not in hints:
            return {"shape": shape}
        whole = type(None) in typing.get_args(hints["axis"]) and self.flip(1 - _SHARE_KEPT)
        return {"shape": shape, "axis": None if whole else self.one(range(len(shape)))}

    def _value(self, problem: Any, name: str, own: Any, hint: Any) -> Any:
        if type(own) is int:
            if name in problem.counts or name == "channels":
                return self.one(CHANNELS)
            if name == "batch" and hasattr(problem, "channels"):
                return self.one(_BATCHES)
            if name in ("height", "width"):
                return self.size(min(7, own), 2 * own)
            if own < 1 or name == "groups":
                return own
            most = 2 * own if own < 32 else max(own, 4096)
            return self.size(max(1, most // 4096), most)
        choices: tuple[Any, ...] = (False, True) if isinstance(own, bool) else ()
        if typing.get_origin(hint) is typing.Literal:
            choices = typing.get_args(hint)
        return own if not choices or self.flip(_SHARE_KEPT) else self.one(choices)


@cache
def _hints(kind: type[object]) -> dict[str, Any]:
    return typing.get_type_hints(kind)


__all__ = ["CHANNELS", "LEAST_BYTES", "Draw"]
