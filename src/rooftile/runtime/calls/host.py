"""Calls on the host: what runs them, and what of them waits for the next one.

To check a call's arrays by the book takes longer than a small kernel.  So a call that repeats one
before only looks whether its arrays are plain: NumPy's own, float32, row-major, aligned.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile._locks import lock
from rooftile.devices import cpu
from rooftile.devices.cuda import CudaArray
from rooftile.ops.problem import Array, numpy_dtype
from rooftile.runtime.arguments import Arguments, Taken
from rooftile.runtime.arrays import layouts
from rooftile.runtime.arrays.base import Library
from rooftile.runtime.arrays.results import new_result
from rooftile.runtime.calls.fast_path import Repeat, note
from rooftile.runtime.selection.choice import Choice
from rooftile.strategies.contract.cpu import HostBound

_FLOAT32 = np.dtype(np.float32)
MOST_FLOPS = 2**21
"""A call of no more work than this, some 20 us, keeps the GIL."""
_READABLE, _WRITABLE = 0x1 | 0x100, 0x1 | 0x100 | 0x400
"""NumPy's flags C_CONTIGUOUS, ALIGNED, and with WRITEABLE."""


def compute(
    given: Arguments[Any],
    choice: Choice,
    inputs: Sequence[Taken],
    parameters: Sequence[Taken | None],
    outputs: Sequence[Taken | None],
) -> Sequence[Any]:
    """Compute on the choice's device: the outputs, of which those that are None are made.

    A call on the CPU, or on a GPU's arrays, is kept for the next one like it.
    """
    in_place = isinstance(inputs[0], CudaArray)
    found: Sequence[Any] = outputs
    if not in_place:
        found = [
            to if given.writes_into(to) else new_result(result)
            for to, result in zip(outputs, choice.problem.output_arrays, strict=True)
        ]
    if choice.device == "cpu":
        run_on_host(choice, inputs, parameters, found)
        if given.kept and len(found) == 1:
            note_call(choice, given)
    else:
        # What runs on a GPU loads much that calls on the CPU never need.
        from rooftile.runtime.calls.gpu import run_on_gpu

        found = run_on_gpu(given, choice, inputs, parameters, found)
    if in_place:
        return found
    for to, one in zip(outputs, found, strict=True):
        if to is not None and to is not one:
            layouts.write(one, to)
    return [
        given.given_back(one) if to is None else to for to, one in zip(outputs, found, strict=True)
    ]


def is_plain(array: Any) -> bool:
    """True if a kernel may read an array without a copy, whose shape is known to be right."""
    return (
        type(array) is np.ndarray
        and array.dtype is _FLOAT32
        and array.flags.num & _READABLE == _READABLE
    )


def result_for(out: Any, result: Array, others: Sequence[Any]) -> NDArray[np.float32] | None:
    """The array of the result: ``out``, or a new array; None where ``out`` must be checked in full.
    ``others`` are plain arrays, or None."""
    if out is None:
        return new_result(result)
    if not is_plain(out) or out.shape != result.shape or out.flags.num & _WRITABLE != _WRITABLE:
        return None
    begin = cpu.address(out)
    end = begin + out.nbytes
    for other in others:
        if other is not None:
            at = cpu.address(other)
            if at < end and begin < at + other.nbytes:
                return None
    return out  # type: ignore[no-any-return]


def checked(result: Array, run: Callable[[Sequence[Any], Any], None]) -> Repeat:
    """A call that looks at its arrays, and then computes by ``run(arrays, out)``."""

    def call(arrays: Sequence[Any], out: Any) -> Any:
        for array in arrays:
            # As `is_plain`, without the call.
            if array is not None and (
                type(array) is not np.ndarray
                or array.dtype is not _FLOAT32
                or array.flags.num & _READABLE != _READABLE
            ):
                return None
        made = result_for(out, result, arrays)
        if made is not None:
            run(arrays, made)
        return made

    return call


def through(library: Library, repeat: Repeat) -> Repeat:
    """The same call on a library's arrays, as on NumPy's over the same memory."""
    see, give = library.seen_by_numpy, library.from_host

    def call(arrays: Sequence[Any], out: Any) -> Any:
        seen = tuple([None if array is None else see(array) for array in arrays])
        made = repeat(seen, None if out is None else see(out))
        if made is None:
            return None
        return give(made) if out is None else out

    return call


def note_call(choice: Choice, given: Arguments[Any]) -> None:
    """Keep what the present call of a public function runs, if its arrays are plain."""

    def recipe(arrays: Sequence[Any]) -> Repeat | None:
        if given.kind is np.ndarray:
            return repeat_of(choice, arrays)
        see = given.library.seen_by_numpy
        repeat = repeat_of(choice, [None if array is None else see(array) for array in arrays])
        return None if repeat is None else through(given.library, repeat)

    note(recipe)


def repeat_of(choice: Choice, arrays: Sequence[Any]) -> Repeat | None:
    """The repeat of a call whose parameters come with it; None where its arrays are not plain.

    Of the arrays the first are inputs, then come parameters, of which the last may be left out. A
    small problem, or one without parameters, keeps its bound strategy for itself, since taking it
    from the waiting ones, and putting it back, takes longer than some kernels.
    """
    if not all(array is None or is_plain(array) for array in arrays):
        return None
    problem = choice.problem
    (result,) = problem.output_arrays
    inputs = len(problem.input_arrays)
    count = inputs + len(problem.parameter_arrays)
    own, turn = _own(choice), lock()

    def run(arrays: Sequence[Any], made: Any) -> None:
        # An array that was not given last stands for zeros.
        arrays = [*arrays, *[None] * (count - len(arrays))]
        if own is None:
            run_on_host(choice, arrays[:inputs], arrays[inputs:], (made,))
            return
        with turn:
            if inputs < count:
                own.renew(given_or_zeros(choice, arrays[inputs:]))
            own.call(*arrays[:inputs], made)

    if own is None:
        return checked(result, run)
    large, long = _bytes(problem.arrays) > cpu.MOST_HELD, problem.flops > MOST_FLOPS
    quick = None
    if large:
        quick = own.quick()
    elif not any(array is None for array in arrays):
        quick = own.quick(len(arrays) - inputs, long=long)
    if quick is None and large:
        # Other calls of the problem may use it.
        waiting_calls.keep(choice, own)
    else:
        _count(own if quick is None else quick, own.nbytes)
    if quick is not None and not (large or long):
        return quick
    if large or quick is not None:
        own = None
    call = checked(result, run)
    return call if quick is None else _beside(quick, result, call)


def _own(choice: Choice) -> HostBound | None:
    """The bound strategy of a choice, where a call may keep it: it waits since the call that is
    repeated."""
    problem = choice.problem
    # To pack many parameters takes much longer than to find what packs them.
    large = _bytes(problem.arrays) > cpu.MOST_HELD
    if not large and _bytes(problem.parameter_arrays) > _MOST_OWN:
        return None
    bound = waiting_calls.take(choice)
    if bound is None:
        return None
    if bound.nbytes > _MOST_OWN or own_bytes[0] + bound.nbytes > MOST_OWN_IN_ALL:
        waiting_calls.keep(choice, bound)
        return None
    return bound


def _beside(quick: cpu.Quick, result: Array, otherwise: Repeat) -> Repeat:
    """A call where another thread may be in ``quick``, which then gives None."""

    def call(arrays: Any, out: Any) -> Any:
        made = quick(arrays, new_result(result) if out is None else out)
        return otherwise(arrays, out) if made is None else made

    return call


def run_on_host(
    choice: Choice, inputs: Sequence[Any], parameters: Sequence[Any], outputs: Sequence[Any]
) -> None:
    """Compute on NumPy arrays with a strategy of the CPU.  Raises `OutOfMemory`.

    What was bound waits for the next call of its problem, which packs its parameters into it.
    """
    parameters = given_or_zeros(choice, parameters)
    bound = waiting_calls.take(choice)
    if bound is None:
        rung: Any = choice.strategy
        device = cpu.open_device()
        bound = rung.once(choice.problem, device)
        if bound is None:
            bound = rung.bind(choice.problem, parameters, device)
        else:
            bound.renew(parameters)
    else:
        bound.renew(parameters)
    bound(*inputs, *outputs)
    if bound.renewable:
        waiting_calls.keep(choice, bound)


def given_or_zeros(choice: Choice, parameters: Sequence[Any]) -> Sequence[Any]:
    """A call's parameters, with zeros for those that are None."""
    for array in parameters:
        if array is None:
            places = zip(parameters, choice.problem.parameter_arrays, strict=True)
            return [_zeros(a.shape, a.dtype) if p is None else p for p, a in places]
    return parameters


def _bytes(arrays: Sequence[Array]) -> int:
    return sum(array.nbytes for array in arrays)


@lru_cache(maxsize=64)
def _zeros(shape: tuple[int, ...], dtype: str) -> Any:
    """A placeholder of a missing parameter."""
    return np.zeros(shape, numpy_dtype(dtype))


class Waiting:
    """Bound strategies of the CPU that no call uses now: the least recently used go first."""

    def __init__(self, most_bytes: int) -> None:
        self._most, self._bytes = most_bytes, 0
        self._bound: OrderedDict[Any, list[HostBound]] = OrderedDict()
        self._turn = lock()

    def take(self, choice: Choice) -> HostBound | None:
        """One for this choice, which is the caller's from now on; None where none waits."""
        with self._turn:
            waiting = self._bound.get((choice.strategy, choice.problem))
            if not waiting:
                return None
            bound = waiting.pop()
            self._bytes -= bound.nbytes
            return bound

    def keep(self, choice: Choice, bound: HostBound) -> None:
        """Let it wait for the next call."""
        key = choice.strategy, choice.problem
        with self._turn:
            self._bound.setdefault(key, []).append(bound)
            self._bound.move_to_end(key)
            self._bytes += bound.nbytes
            while self._bytes > self._most or len(self._bound) > _MOST_WAITING:
                if len(self._bound) == 1 and self._bytes <= _LARGEST_WAITING:
                    break
                _, dropped = self._bound.popitem(last=False)
                self._bytes -= sum(one.nbytes for one in dropped)


_MOST_OWN = 2**17
"""Bytes that what a repeated call keeps for itself may hold."""
MOST_OWN_IN_ALL = 2**24
"""Bytes that what all repeated calls keep for themselves may hold."""
own_bytes = [0]


def _count(holder: object, nbytes: int) -> None:
    """Count what a repeated call keeps for itself, as long as there is what holds it."""
    own_bytes[0] += nbytes
    weakref.finalize(holder, _count_no_more, nbytes).atexit = False


def _count_no_more(nbytes: int) -> None:
    own_bytes[0] -= nbytes


_MOST_WAITING = 256
"""Problems whose bound strategies wait."""
_LARGEST_WAITING = 2**28
"""Bytes that one problem's bound strategies may hold beyond the most of all."""
waiting_calls = Waiting(most_bytes=2**26)
