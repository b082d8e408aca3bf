"""Calls on the host: what runs them, and what of them waits for the next one.

To check a call's arrays by the book takes longer than a small kernel.  So a call that repeats one
before only looks whether its arrays are plain: NumPy's own, float32, row-major, aligned.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile._locks import lock
from rooftile.devices import cpu
from rooftile.ops.problem import Array, numpy_dtype
from rooftile.runtime.arguments import Arguments
from rooftile.runtime.choice import Choice
from rooftile.runtime.library import Library
from rooftile.runtime.repeats import Repeated, note
from rooftile.runtime.results import new_result
from rooftile.strategies.cpu import HostBound

_FLOAT32 = np.dtype(np.float32)
MOST_FLOPS = 2**21
"""A call of no more work than this, some 20 us, keeps the GIL."""
_READABLE, _WRITABLE = 0x1 | 0x100, 0x1 | 0x100 | 0x400
"""NumPy's flags C_CONTIGUOUS, ALIGNED, and with WRITEABLE."""


def is_plain(array: Any) -> bool:
    """Whether a kernel may read an array as it lies, whose shape is known to be right."""
    return (
        type(array) is np.ndarray
        and array.dtype is _FLOAT32
        and array.flags.num & _READABLE == _READABLE
    )


def result_for(out: Any, result: Array, others: Sequence[Any]) -> NDArray[np.float32] | None:
    """Where the result goes: ``out``, or a new array; None where ``out`` must be checked by the
    book.  ``others`` are plain arrays, or None."""
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


class HostRepeat:
    """What a call on plain arrays runs: of its arrays the first are inputs, then parameters.

    A small problem, or one without parameters, keeps what is bound for itself, since to take it
    from those that wait, and to put it back, takes longer than some kernels.
    """

    def __init__(self, choice: Choice, result: Array, inputs: int, arrays: int) -> None:
        """``arrays`` counts inputs and parameters."""
        self._choice, self._result, self._inputs, self._arrays = choice, result, inputs, arrays
        self._given: int | None = arrays
        """How many come, the others being left out; None where one is None."""
        self._own: HostBound | None = None
        self._turn = lock()

    def takes(self, arrays: Sequence[Any]) -> bool:
        """See `rooftile.runtime.repeats.Repeated`."""
        self._given = None if any(array is None for array in arrays) else len(arrays)
        return all(array is None or is_plain(array) for array in arrays)

    def quickest(self) -> Callable[[Any, Any], Any]:
        """See `rooftile.runtime.repeats.Repeated`."""
        problem = self._choice.problem
        if _bytes(problem.arrays) > cpu.MOST_HELD:
            return self._quickest_of_large() or self.__call__
        # To pack many parameters takes much longer than to find what packs them.
        small = _bytes(problem.parameter_arrays) <= _MOST_OWN
        self._own = self._kept() if small else None
        if self._own is None:
            return self.__call__
        long, quick = problem.flops > MOST_FLOPS, None
        if self._given is not None:
            quick = self._own.quick(self._given - self._inputs, long=long)
        _count(self._own if quick is None else quick, self._own.nbytes)
        if quick is None:
            return self.__call__
        if not long:
            return quick
        self._own = None
        return self._beside_others(quick)

    def _quickest_of_large(self) -> Callable[[Any, Any], Any] | None:
        """The same where memory for results is kept."""
        own = self._kept()
        if own is None:
            return None
        quick = own.quick()
        if quick is None:
            _waiting.keep(self._choice, own)
            return None
        _count(quick, own.nbytes)
        return self._beside_others(quick)

    def _beside_others(self, quick: cpu.Quick) -> Callable[[Any, Any], Any]:
        """A call where another thread may be in ``quick``, which then gives None."""

        def call(arrays: Any, out: Any) -> Any:
            made = quick(arrays, new_result(self._result) if out is None else out)
            return self(arrays, out) if made is None else made

        return call

    def __call__(self, arrays: Sequence[Any], out: Any) -> Any:
        """See `rooftile.runtime.repeats.Repeated`."""
        for array in arrays:
            # As `is_plain`, without the call.
            if array is not None and (
                type(array) is not np.ndarray
                or array.dtype is not _FLOAT32
                or array.flags.num & _READABLE != _READABLE
            ):
                return None
        made = result_for(out, self._result, arrays)
        if made is None:
            return None
        own, inputs, count = self._own, self._inputs, self._arrays
        if len(arrays) < count:
            # An array that was not given last stands for zeros.
            arrays = (*arrays, *[None] * (count - len(arrays)))
        if own is None:
            run_on_host(self._choice, arrays[:inputs], arrays[inputs:], (made,))
            return made
        with self._turn:
            if inputs < count:
                own.renew(given_or_zeros(self._choice, arrays[inputs:]))
            own.call(*arrays[:inputs], made)
        return made

    def _kept(self) -> HostBound | None:
        """What is bound, where it is small; it waits since the call that is repeated."""
        bound = _waiting.take(self._choice)
        if bound is None:
            return None
        if bound.nbytes > _MOST_OWN or _own_bytes[0] + bound.nbytes > _MOST_OWN_IN_ALL:
            _waiting.keep(self._choice, bound)
            return None
        return bound


class LibraryRepeat:
    """The same on another library's arrays, as NumPy's over the same memory."""

    def __init__(self, library: Library, repeat: Repeated) -> None:
        self._see, self._give, self._repeat = library.seen_by_numpy, library.from_host, repeat
        self._call: Callable[[Any, Any], Any] = repeat

    def takes(self, arrays: Sequence[Any]) -> bool:
        """See `rooftile.runtime.repeats.Repeated`."""
        return self._repeat.takes(self._seen(arrays))

    def quickest(self) -> Callable[[Any, Any], Any]:
        """See `rooftile.runtime.repeats.Repeated`."""
        self._call = self._repeat.quickest()
        return self.__call__

    def __call__(self, arrays: Sequence[Any], out: Any) -> Any:
        """See `rooftile.runtime.repeats.Repeated`."""
        if out is None:
            made = self._call(self._seen(arrays), None)
            return None if made is None else self._give(made)
        made = self._call(self._seen(arrays), self._see(out))
        return None if made is None else out

    def _seen(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        return tuple([None if array is None else self._see(array) for array in arrays])


class SettledRepeat:
    """What a call of one plain array runs where parameters stay.

    ``quick`` does all of it where it is given.
    """

    def __init__(
        self, bound: HostBound, result: Array, turn: threading.Lock, quick: cpu.Quick | None
    ) -> None:
        self._bound, self._result, self._turn, self._quick = bound, result, turn, quick

    def takes(self, arrays: Sequence[Any]) -> bool:
        """See `rooftile.runtime.repeats.Repeated`."""
        return all(map(is_plain, arrays))

    def quickest(self) -> Callable[[Any, Any], Any]:
        """See `rooftile.runtime.repeats.Repeated`."""
        return self._quick or self.__call__

    def __call__(self, arrays: Sequence[Any], out: Any) -> Any:
        """See `rooftile.runtime.repeats.Repeated`."""
        (x,) = arrays
        made = result_for(out, self._result, arrays) if is_plain(x) else None
        if made is not None:
            with self._turn:
                self._bound(x, made)
        return made


def run_on_host(
    choice: Choice, inputs: Sequence[Any], parameters: Sequence[Any], outputs: Sequence[Any]
) -> None:
    """Compute on NumPy arrays with a strategy of the CPU.  Raises `OutOfMemory`.

    What was bound waits for the next call of its problem, which packs its parameters into it.
    """
    parameters = given_or_zeros(choice, parameters)
    bound = _waiting.take(choice)
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
        _waiting.keep(choice, bound)


def given_or_zeros(choice: Choice, parameters: Sequence[Any]) -> Sequence[Any]:
    """A call's parameters, with zeros for those that are None."""
    for array in parameters:
        if array is None:
            places = zip(parameters, choice.problem.parameter_arrays, strict=True)
            return [_zeros(a.shape, a.dtype) if p is None else p for p, a in places]
    return parameters


def note_call(choice: Choice, given: Arguments[Any]) -> None:
    """Keep what the present call of a public function runs, if its arrays are plain."""
    problem = choice.problem
    (result,) = problem.output_arrays
    inputs = len(problem.input_arrays)
    repeat = HostRepeat(choice, result, inputs, inputs + len(problem.parameter_arrays))
    if given.kind is np.ndarray:
        note(np.ndarray, lambda: repeat)
    else:
        note(given.kind, lambda: LibraryRepeat(given.library, repeat))


def _bytes(arrays: Sequence[Array]) -> int:
    return sum(array.nbytes for array in arrays)


@lru_cache(maxsize=64)
def _zeros(shape: tuple[int, ...], dtype: str) -> Any:
    """What stands for a parameter that was not given."""
    return np.zeros(shape, numpy_dtype(dtype))


class _Waiting:
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
_MOST_OWN_IN_ALL = 2**24
"""Bytes that what all repeated calls keep for themselves may hold."""
_own_bytes = [0]


def _count(holder: object, nbytes: int) -> None:
    """Count what a repeated call keeps for itself, as long as there is what holds it."""
    _own_bytes[0] += nbytes
    weakref.finalize(holder, _count_no_more, nbytes).atexit = False


def _count_no_more(nbytes: int) -> None:
    _own_bytes[0] -= nbytes


_MOST_WAITING = 256
"""Problems whose bound strategies wait."""
_LARGEST_WAITING = 2**28
"""Bytes that those of a single problem may hold beyond the most of all."""
_waiting = _Waiting(most_bytes=2**26)
