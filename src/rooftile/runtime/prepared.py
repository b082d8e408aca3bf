"""An operation whose parameters stay: packed once, for inputs of any batch."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from rooftile.devices.select import open_device, parse_device
from rooftile.errors import InputError, UnsupportedProblem
from rooftile.ops import AnyArray, Problem, check_precision
from rooftile.runtime.arguments import Arguments
from rooftile.runtime.choice import Choice, decide
from rooftile.runtime.results import new_result

_MOST_SHAPES = 64
"""Shapes of inputs for which a strategy stays bound."""


class Prepared(ABC):
    """Calls, and `update`, take turns; any thread may make them.

    The results have the bits of the function that computes the same at once.
    """

    axes: str
    """Those of the input."""

    def __init__(
        self,
        weights: Any,
        bias: Any,
        axes: str,
        precision: str,
        strategy: str | None,
        device: str | None,
    ) -> None:
        check_precision(precision)
        self._asked = precision, strategy
        parse_device(device or "cpu")
        self._device = device or "cpu"
        self._turn = threading.Lock()
        self._axes_of_weights = axes
        self._parameters = self._taken(weights, bias)
        self._choices: dict[tuple[int, ...], Choice] = {}
        self._bound: dict[tuple[Any, Problem], Any] = {}

    @abstractmethod
    def problem(self, shape: tuple[int, ...]) -> Problem:
        """What is computed of an input of this shape.  Raises `InputError`."""

    def __call__(self, x: Any, *, out: Any = None) -> Any:
        """The result of an input, as an array of its kind; ``out`` takes it where it is given.

        Raises `InputError`, `UnsupportedProblem`, `OutOfMemory`, and the errors of a GPU.
        """
        given = Arguments(x)
        _check_place(given, "x")
        array = given.take("x", x, self.axes)
        with self._turn:
            choice = self._choices.get(array.shape) or self._choose(array.shape)
            (result,) = choice.problem.output_arrays
            to = new_result(result) if out is None else given.take_out(out, result, [array])
            self._bind(choice)(array, to)
        return given.library.from_host(to) if out is None else out

    def update(self, weights: Any, bias: Any = None) -> None:
        """Take new values for the parameters, in the shapes of the old ones.

        Raises `InputError`.
        """
        taken = self._taken(weights, bias)
        for name, new, old in zip(("weights", "bias"), taken, self._parameters, strict=True):
            if new.shape != old.shape:
                raise InputError(name, f"shape {new.shape}", f"the old ones' shape {old.shape}")
        with self._turn:
            self._parameters = taken
            self._bound = {key: b for key, b in self._bound.items() if b.renewable}
            for bound in self._bound.values():
                bound.renew(taken)

    def _taken(self, weights: Any, bias: Any) -> tuple[AnyArray, AnyArray]:
        """Copies of the parameters; nobody else writes to them."""
        given = Arguments(weights, "weights")
        _check_place(given, "weights")
        held = given.take("weights", weights, self._axes_of_weights)
        count = held.shape[0]
        added = given.take_bias(bias, count)
        zeros = np.zeros(count, np.float32)
        return held.copy(), zeros if added is None else added.copy()

    def _choose(self, shape: tuple[int, ...]) -> Choice:
        precision, strategy = self._asked
        choice = decide(self.problem(shape), precision, self._device, strategy)
        if len(self._choices) >= _MOST_SHAPES:
            self._choices.clear()
            self._bound.clear()
        self._choices[shape] = choice
        return choice

    def _bind(self, choice: Choice) -> Any:
        rung: Any = choice.strategy
        problem = choice.problem
        # A kernel's bands and packing do not depend on the batch.
        key = rung, problem.with_batch(1) if rung.kernels else problem
        if key not in self._bound:
            device = open_device(choice.device)
            self._bound[key] = rung.bind(key[1], self._parameters, device, choice.config)
        return self._bound[key]


def _check_place(given: Arguments[Any], name: str) -> None:
    if given.gpu is not None:
        raise UnsupportedProblem(
            "a prepared operation",
            f"{name} is on a GPU, and it takes arrays of the CPU only",
            "the function that computes the same at once",
        )
