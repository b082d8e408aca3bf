"""Winners of max-pools as a training step's launches tell them: by their positions, in 8 bits."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from rooftile.lab.judge.expected import Expected
from rooftile.ops.layers.positions import NO_WINNER
from rooftile.strategies.contract.gpu import GpuStrategy


def positions(layer: Any, places: Any) -> Any:
    """Where winners stand in their windows, row by row, of which the places are known; none where a
    place is negative."""
    row, column = np.divmod(places - _first_places(layer), layer.conv_size[1])
    height, width = layer.pool.window
    there = places >= 0
    assert (row < height)[there].all()
    assert (column < width)[there].all()
    return np.where(there, row * width + column, NO_WINNER).astype(np.uint8)


def with_cuts(problem: Any, given: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """What kernels are given where relu cut every third window, with a negative place, and what the
    definition takes instead: zeros in the first positions."""
    names = [array.name for array in problem.arrays if array.role != "output"]
    told, right = list(given), list(given)
    dy, where = names.index("dy"), names.index("where")
    cut = np.arange(given[where].size).reshape(given[where].shape) % 3 == 0
    told[where] = np.where(cut, -1, given[where]).astype(np.int32)
    right[dy] = np.where(cut, np.float32(0), given[dy])
    right[where] = np.where(cut, _first_places(problem.layer), given[where]).astype(np.int32)
    return told, right


def without_cuts(rung: GpuStrategy) -> GpuStrategy:
    """The rung with a text that takes the gradients of windows that relu cut for any others."""
    wrong: Any = copy(rung)
    asked, text = "((place) == NO_WINNER ? 0 : (gradient))", rung.whole_text
    assert asked in text
    wrong.__dict__["text"] = text.replace(asked, "(gradient)")
    return wrong


def right_with_cuts(problem: Any, rung: GpuStrategy, device: Any) -> bool:
    """Whether a rung's gradients are right where relu cut windows, also of one whose text reads
    positions although training hands it none."""
    reader: Any = copy(rung)
    reader.stores = {"WHERE_NARROW": "where:uint8"}
    told, right = with_cuts(problem, problem.random(3))
    inputs = dict(zip((a.name for a in problem.input_arrays), told, strict=False))
    parameters = told[len(inputs) :]
    inputs["where"] = positions(problem.layer, inputs["where"])
    outputs = [np.empty(a.shape, np.float32) for a in problem.output_arrays]
    stored = problem.stored(where="uint8")
    reader.bind(stored, parameters, device)(*inputs.values(), *outputs)
    made = outputs[0] if len(outputs) == 1 else tuple(outputs)
    return Expected(problem, *right).judge(made, rung.errors).passed


def _first_places(layer: Any) -> Any:
    """Of each window."""
    (rows, columns), (down, across) = layer.output_size, layer.pool.stride
    first = down * np.arange(rows)[:, None] * layer.conv_size[1] + across * np.arange(columns)
    return first.astype(np.int32)
