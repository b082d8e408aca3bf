"""Parameters that stay where they lie: packed once for each strategy that reads them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from rooftile._locks import lock
from rooftile.devices.select import open_device
from rooftile.ops import AnyArray, Problem
from rooftile.runtime.arguments import Arguments
from rooftile.runtime.arrays import layouts
from rooftile.runtime.arrays.results import new_result
from rooftile.runtime.calls.fast_path import Calls, keep
from rooftile.runtime.calls.host import MOST_FLOPS, checked, is_plain, through
from rooftile.runtime.selection.choice import Choice
from rooftile.strategies import Strategy

MOST_SHAPES = 64
"""Shapes of inputs for which it is known what computes them."""


class KeptParameters(ABC):
    """Parameters on one device, for strategies that are chosen call by call."""

    def __init__(self) -> None:
        self.calls: Calls = {}
        """Calls that were made before."""

    @abstractmethod
    def run(
        self,
        choice: Choice,
        given: Arguments[Any],
        x: Any,
        out: Any,
        shape: tuple[int, ...] | None = None,
    ) -> Any:
        """The result of x, an array taken by ``given``; into ``out``, the caller's, or None.
        ``shape`` is the result's, where it is not the problem's."""

    @abstractmethod
    def update(self, given: Arguments[Any], parameters: Sequence[Any]) -> None:
        """Take other values, in arrays taken by ``given``."""

    @abstractmethod
    def parameters(self) -> list[AnyArray]:
        """Copies of the parameters in the CPU's memory."""


class HostParameters(KeptParameters):
    """Parameters in the CPU's memory, for it or for a GPU that gets copies; calls take turns."""

    def __init__(self, parameters: Sequence[AnyArray | None], shapes: Sequence[tuple[int, ...]]):
        super().__init__()
        self._shapes = tuple(shapes)
        self._parameters = self._copies(parameters)
        self._bound: dict[tuple[Strategy, Any, str], Any] = {}
        self._read: set[Any] = set()
        """The bound parameters that a call may still read which takes no turn."""
        self._turn = lock()

    def run(
        self,
        choice: Choice,
        given: Arguments[Any],
        x: Any,
        out: Any,
        shape: tuple[int, ...] | None = None,
    ) -> Any:
        (result,) = choice.problem.output_arrays
        to = None if out is None else given.take_shaped_out(out, result, [x], shape)
        direct = given.writes_into(to)
        made: Any = to if direct else new_result(result)
        with self._turn:
            bound = self._bind(choice)
            bound(x, made)
            if choice.device == "cpu" and given.dtype == "float32" and is_plain(x):
                self._note(given, choice.problem, x, bound)
        if to is None:
            back = given.given_back(made)
            return back if shape is None else back.reshape(shape)
        if not direct:
            layouts.write(made, to)
        return out

    def update(self, given: Arguments[Any], parameters: Sequence[AnyArray | None]) -> None:
        taken = self._copies(parameters)
        with self._turn:
            self._parameters = taken
            self.calls.clear()
            self._bound = {
                key: bound
                for key, bound in self._bound.items()
                if bound.renewable and bound not in self._read
            }
            self._read.clear()
            for bound in self._bound.values():
                bound.renew(taken)

    def parameters(self) -> list[AnyArray]:
        with self._turn:
            return [array.copy() for array in self._parameters]

    def _note(self, given: Arguments[Any], problem: Problem, x: AnyArray, bound: Any) -> None:
        """Keep what runs the next call like this."""
        (result,) = problem.output_arrays
        long = problem.flops > MOST_FLOPS
        quick = bound.quick_beside((x.shape, result.shape), long=long)
        if quick is not None:
            self._read.add(bound)

        def run(arrays: Sequence[Any], made: Any) -> None:
            with self._turn:
                bound(*arrays, made)

        library, repeat = given.library, quick or checked(result, run)
        own = repeat if given.kind is np.ndarray else through(library, repeat)
        keep(self.calls, (given.kind, library.own_dtype("float32"), x.shape), own)

    def _copies(self, parameters: Sequence[AnyArray | None]) -> list[AnyArray]:
        """No other code writes to them."""
        pairs = zip(parameters, self._shapes, strict=True)
        kind = next(a.dtype for a in parameters if a is not None)
        return [np.zeros(shape, kind) if a is None else a.copy() for a, shape in pairs]

    def _bind(self, choice: Choice) -> Any:
        rung: Any = choice.strategy
        problem = choice.problem
        # A kernel's bands and packing do not depend on the batch.
        key = rung, problem.with_batch(1) if rung.kernels else problem, choice.device
        if key not in self._bound:
            device = open_device(choice.device)
            if len(self._bound) >= MOST_SHAPES:
                self._bound.clear()
            self._bound[key] = rung.bind(key[1], self._parameters, device, choice.config)
        return self._bound[key]
