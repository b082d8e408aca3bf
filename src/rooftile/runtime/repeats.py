"""Calls that were made before: the same function, kinds of arrays, shapes and options.

What the first one found out is kept.  One that repeats it only looks whether its arrays are as
plain as those were, and launches; whatever is out of the ordinary goes the long way, which checks
and explains.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, ParamSpec, Protocol, TypeVar

from rooftile.devices.cuda import CudaDevice
from rooftile.devices.cuda.replays import Replays
from rooftile.runtime.arrays import Library
from rooftile.runtime.choice import recent_stamp

_MOST_KEPT = 1024
"""How many calls of a function are kept; where one more comes, all are dropped."""
_SMALL = 2**16
"""float32 of temporaries that streams keep: to allocate them takes longer than to launch."""
_MOST_STREAMS = 8

_Of = ParamSpec("_Of")
_Made = TypeVar("_Made")


Repeating = Callable[[Any, Any], Any]
"""``call(arrays, out)`` as of a `Repeated`; its arrays are a tuple."""


class Repeated(Protocol):
    """What a call runs that repeats one before."""

    def __call__(self, arrays: Sequence[Any], out: Any) -> Any:
        """The output; None where the call must go the long way."""

    def takes(self, arrays: Sequence[Any]) -> bool:
        """Whether arrays are as plain as it needs them: views of others may have their shapes."""

    def quickest(self) -> Repeating:
        """What does the same as a call of it, in the least time."""


@dataclass(frozen=True)
class Repeat:
    """What a call on plain arrays of a GPU launches: row-major, aligned, without gradients.

    The launches take inputs, the output, other arrays of the call, what stays, and temporaries.
    """

    library: Library
    device: CudaDevice
    gpu: int
    inputs: int
    shape: tuple[int, ...]
    """The output's."""
    dtypes: Sequence[Any]
    """The library's dtypes of the call's arrays."""
    made: Any
    """That of the output."""
    launches: Any
    """A `rooftile.devices.cuda.launches.CudaLaunches`; several start as one graph."""
    zeros: Sequence[int | None]
    """For each array of the call that may be missing, where zeros lie that stand for it."""
    stays: Sequence[int]
    offsets: Sequence[int]
    """Where each temporary begins in one memory of so many ``floats``."""
    floats: int
    turns: Any = None
    """In which calls take turns that share constant memory; None where they share none."""
    stamp: Any = None
    """That of the tunings when the choice was made; None where it is never made anew."""
    rooms: dict[int, tuple[Any, list[int]]] = field(default_factory=dict)
    """Small temporaries, which each stream keeps: they are used in its order."""

    def __call__(self, arrays: Sequence[Any], out: Any) -> Any:
        """See `Repeated`."""
        library, device, gpu = self.library, self.device, self.gpu
        if not device.is_current() or (self.stamp is not None and self.stamp != recent_stamp()):
            return None
        stream = library.current_stream(gpu)
        captured = self._asks and device.is_capturing(stream)
        if captured and (self.turns is not None or not library.graph_pool):
            return None
        addresses = []
        for number, zeros in enumerate(self.zeros):
            array = arrays[number] if number < len(arrays) else None
            if array is None:
                address = zeros
            else:
                address = library.plain_address(array, gpu, self.dtypes[number])
            if not address:
                return None
            addresses.append(address)
        if out is None:
            out, to = library.plain(self.shape, gpu, self.made)
        else:
            to = library.plain_address(out, gpu, self.made)
            if not to or out.shape != self.shape or not _apart(out, to, arrays, addresses):
                return None
        self._start(stream, addresses, to, captured=captured)
        return out

    def takes(self, arrays: Sequence[Any]) -> bool:
        """See `Repeated`."""
        return all(
            array is None or self.library.plain_address(array, self.gpu, dtype)
            for array, dtype in zip(arrays, self.dtypes, strict=False)
        )

    def quickest(self) -> Repeating:
        """See `Repeated`."""
        # A method is called faster than an instance.
        return self.__call__

    @cached_property
    def _asks(self) -> bool:
        """Whether a captured call differs."""
        special = self.turns is not None or self.floats > 0 or not self.library.graph_pool
        return special or self._replays is not None

    @cached_property
    def _replays(self) -> Replays | None:
        """The launches as graphs, where there are several."""
        return Replays(self.launches) if self.launches.count > 1 else None

    def _start(self, stream: int, addresses: list[int], to: int, *, captured: bool) -> None:
        _held, temporaries = self._room(stream, keep=not captured) if self.floats else (None, ())
        first, others = addresses[: self.inputs], addresses[self.inputs :]
        buffers = [*first, to, *others, *self.stays, *temporaries]
        # A graph cannot be launched into one that is being captured.
        launches = self.launches if captured else self._replays or self.launches
        if self.turns is None:
            launches.start(buffers, stream)
        else:
            self.turns.begin(stream)
            try:
                launches.start(buffers, stream)
            finally:
                self.turns.end(stream)

    def _room(self, stream: int, *, keep: bool) -> tuple[Any, Sequence[int]]:
        """Memory for the temporaries, and where each begins."""
        keep = keep and self.floats <= _SMALL
        if keep and (room := self.rooms.get(stream)) is not None:
            return room
        held, start = self.library.plain((self.floats,), self.gpu)
        made = held, [start + offset for offset in self.offsets]
        if keep:
            if len(self.rooms) >= _MOST_STREAMS:
                self.rooms.clear()
            self.rooms[stream] = made
        return made


def _apart(out: Any, to: int, arrays: Sequence[Any], addresses: Sequence[int]) -> bool:
    """Whether the output shares memory with no other array."""
    end = to + out.nbytes
    return all(
        address >= end or address + array.nbytes <= to
        for array, address in zip(arrays, addresses, strict=False)
        if array is not None
    )


Recipe = Callable[[], Repeated]


class _Now(threading.local):
    """The call that this thread is in: where it is to be kept, and by what."""

    call: tuple[dict[Any, Repeating], Any] | None = None


_now = _Now()
_kinds: set[type] = set()
"""The types of first arguments of which calls are kept."""


def note(kind: type, recipe: Recipe) -> None:
    """Keep what the present call of a public function launches; ``kind`` is that of its arrays."""
    if _now.call is None:
        return
    seen, call = _now.call
    try:
        key = _key(*call)
        hash(key)
    except (AttributeError, TypeError):
        return
    repeat = recipe()
    if not repeat.takes(call[0]):
        return
    if len(seen) >= _MOST_KEPT:
        seen.clear()
    seen[key] = repeat.quickest()
    _kinds.add(kind)


def _key(arrays: Sequence[Any], options: dict[str, Any]) -> Any:
    shapes: Any
    if len(arrays) == 1:
        shapes = arrays[0].shape
    else:
        shapes = tuple([None if array is None else array.shape for array in arrays])
    if not options:
        return arrays[0].dtype, shapes
    # 1 and True are equal, and not equally good.
    types = tuple(map(type, options.values()))
    return arrays[0].dtype, shapes, tuple(options.items()), types


def repeated(*names: str) -> Callable[[Callable[_Of, _Made]], Callable[_Of, _Made]]:
    """For a public function whose first parameters are arrays of these names."""

    def of(function: Callable[_Of, _Made]) -> Callable[_Of, _Made]:
        seen: dict[Any, Repeating] = {}

        @wraps(function)
        def call(*given: Any, **options: Any) -> Any:
            if not options and len(given) == 1 and type(given[0]) in _kinds:
                # As below, with half of the steps: a small kernel takes no longer than these.
                repeat = seen.get((given[0].dtype, given[0].shape))
                if repeat is not None and (made := repeat(given, None)) is not None:
                    return made
            out, arrays = options.pop("out", None), given
            if len(given) < len(names):
                arrays = (*given, *_named(names[len(given) :], options))
            if arrays and type(arrays[0]) in _kinds:
                try:
                    repeat = seen.get(_key(arrays, options))
                except (AttributeError, TypeError):
                    repeat = None
                if repeat is not None and (made := repeat(arrays, out)) is not None:
                    return made
            before, _now.call = _now.call, (seen, (arrays, options))
            try:
                return function(*arrays, **options, out=out)
            finally:
                _now.call = before

        return call

    return of


def _named(names: Sequence[str], options: dict[str, Any]) -> list[Any]:
    """The arrays that were given by their names, as far as there is no gap."""
    found = []
    for name in names:
        if name not in options:
            break
        found.append(options.pop(name))
    return found
