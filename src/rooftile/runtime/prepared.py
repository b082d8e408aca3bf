"""An operation whose parameters stay: packed once, for inputs of any batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

from rooftile.devices.select import parse_device
from rooftile.errors import InputError
from rooftile.ops import Problem, check_precision
from rooftile.runtime.arguments import Arguments, Taken, computed_in
from rooftile.runtime.arrays.base import Library
from rooftile.runtime.parameters import HostParameters, KeptParameters
from rooftile.runtime.selection.choice import Choice, decide

AnyKind = TypeVar("AnyKind")
"""The kind of array that a call is given and gives back."""
MOST_SHAPES = 64
"""Shapes of inputs for which a choice is kept."""


class Prepared(ABC):
    """Any thread may call it.

    The results have the bits of the function that computes the same at once.  A prepared operation
    can be pickled and copied: the copy has parameters of its own on the same device, and chooses
    its strategies anew.
    """

    axes: str
    """The input's axes."""

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
        if device is not None:
            parse_device(device)
        self._asked = precision, strategy
        self._axes_of_weights = axes
        given, taken = self._taken(weights, bias)
        self._dtype = computed_in(given.dtype)
        self._gpu = given.gpu
        self._device = given.device(device)
        self.shape: tuple[int, ...] = tuple(taken[0].shape)
        """The weights' shape."""
        self._keep(given.library, taken)

    def _keep(self, library: Library | None, parameters: Sequence[Any]) -> None:
        """Copy parameters to where they stay: from arrays that are there, or from the CPU's memory
        where no ``library`` is given."""
        shapes = self.shape, self.shape[:1]
        self._kept: KeptParameters
        if self._gpu is None:
            self._kept = HostParameters(parameters, shapes)
        else:
            from rooftile.runtime.gpu_parameters import GpuParameters

            self._kept = GpuParameters(self._gpu, library, parameters, shapes)
        self._calls = self._kept.calls
        self._choices: dict[Any, Choice] = {}

    @abstractmethod
    def problem(self, shape: tuple[int, ...]) -> Problem:
        """The problem of an input of this shape. Raises `InputError`."""

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """The options that differ from the defaults, by name."""

    def __repr__(self) -> str:
        options = self.options()
        precision, strategy = self._asked
        options |= {} if precision == "ieee" else {"precision": precision}
        options |= {} if strategy is None else {"strategy": strategy}
        options |= {} if self._device == "cpu" else {"device": self._device}
        shape = ", ".join(map(str, self.shape))
        words = [
            f"{self._dtype}[{shape}]",
            *(f"{name}={value!r}" for name, value in options.items()),
        ]
        return f"<{type(self).__name__} of {', '.join(words)}>"

    def __getstate__(self) -> dict[str, Any]:
        """A copy's content: options, and the parameters in the CPU's memory."""
        made_by_calls = ("_kept", "_calls", "_choices")
        kept = {name: value for name, value in vars(self).items() if name not in made_by_calls}
        return {**kept, "_parameters": self._kept.parameters()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Raises `DeviceMissing` where the parameters were on a GPU that is not there."""
        parameters = state.pop("_parameters")
        vars(self).update(state)
        self._keep(None, parameters)

    def __call__(self, x: AnyKind, *, out: AnyKind | None = None) -> AnyKind:
        """The result of an input, as an array of its kind; ``out`` takes it where it is given.
        Raises `InputError`, `UnsupportedProblem`, `OutOfMemory`, and the errors of a GPU."""
        try:
            like: Any = x
            _, repeat = self._calls[type(like), like.dtype, like.shape]
        except (AttributeError, KeyError, TypeError):
            pass
        else:
            if (made := repeat((x,), out)) is not None:
                repeated: AnyKind = made
                return repeated
        given = Arguments(x, forms=True, double=self._dtype == "float64")
        self._check_place("x", given)
        array, shape = self._input(given, x)
        self._check_dtype("x", given)
        count, *sizes = array.shape
        like = (count or 1, *sizes)
        # Of 16-bit numbers the precision is another.
        key = like if given.dtype == "float32" else (*like, given.dtype)
        choice = self._choices.get(key) or self._choose(key, like, given)
        if not count:
            (y,) = choice.problem.output_arrays
            shape = shape or (0, *y.shape[1:])
            nothing: AnyKind = given.nothing(array, shape, y.dtype, self._device, out)
            return nothing
        result: AnyKind = self._kept.run(choice, given, array, out, shape)
        return result

    def _input(self, given: Arguments[Any], x: Any) -> tuple[Taken, tuple[int, ...] | None]:
        """x as a problem takes it, and the result's shape where it is not the problem's."""
        return given.take("x", x, self.axes, empty="batch"), None

    def update(self, weights: Any, bias: Any = None) -> None:
        """Take new values for the parameters, in the shapes of the old ones. On a GPU it waits for
        calls on other streams; inside a capture it becomes part of the graph. Raises `InputError`.
        """
        given, taken = self._taken(weights, bias)
        self._check_place("weights", given)
        self._check_dtype("weights", given)
        if (shape := tuple(taken[0].shape)) != self.shape:
            raise InputError("weights", f"shape {shape}", f"the old ones' shape {self.shape}")
        self._kept.update(given, taken)

    def _taken(self, weights: Any, bias: Any) -> tuple[Arguments[Any], list[Any]]:
        given = Arguments(weights, "weights", forms=True, double=True)
        held = given.take("weights", weights, self._axes_of_weights)
        if given.dtype == "float64" and given.gpu is not None:
            raise InputError("weights", "float64 on a GPU", "float32, or float64 on the CPU")
        return given, [held, given.take_bias(bias, held.shape[0])]

    def _check_place(self, name: str, given: Arguments[Any]) -> None:
        if given.gpu != self._gpu:
            here, there = ("the CPU" if g is None else f"cuda:{g}" for g in (self._gpu, given.gpu))
            raise InputError(name, f"an array on {there}", f"one on {here}, where it was prepared")

    def _check_dtype(self, name: str, given: Arguments[Any]) -> None:
        if computed_in(given.dtype) != self._dtype:
            raise InputError(name, f"dtype {given.dtype}", f"{self._dtype}, as it was prepared")

    def _choose(self, key: Any, shape: tuple[int, ...], given: Arguments[Any]) -> Choice:
        asked, strategy = self._asked
        precision = given.precision(asked, self._device)
        choice = decide(self.problem(shape), precision, self._device, strategy)
        if len(self._choices) >= MOST_SHAPES:
            self._choices.clear()
        self._choices[key] = choice
        return choice
