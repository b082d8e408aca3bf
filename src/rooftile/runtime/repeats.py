"""Calls that were made before: the same function, kinds of arrays, shapes and options.

What the first one found out is kept.  One that repeats it only looks whether its arrays are as
plain as those were, and launches; whatever is out of the ordinary goes the long way, which checks
and explains.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from numbers import Number
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from rooftile.runtime.arrays import Library
from rooftile.runtime.choice import recent_stamp
from rooftile.runtime.library import Reader
from rooftile.runtime.plain import plain
from rooftile.runtime.rooms import Rooms

if TYPE_CHECKING:
    from rooftile.devices.cuda import CudaDevice
    from rooftile.devices.cuda.replays import Replays

_MOST_KEPT = 1024
"""How many calls of a function are kept; where one more comes, all are dropped."""

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
    """A `rooftile.devices.cuda.launches.CudaLaunches`; they start as a graph where they can."""
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
    overlaps: bool = False
    """Whether it starts as it is, because it begins while the launch before ends: a graph, which
    takes less of the host's time, would wait for that end, which takes more of the GPU's."""

    def __call__(self, arrays: Sequence[Any], out: Any) -> Any:
        """See `Repeated`."""
        return self.quickest()(arrays, out)

    def quickest(self) -> Repeating:
        """See `Repeated`."""
        return self._call

    @cached_property
    def _call(self) -> Repeating:
        """What a call asks is at hand here: to look it up takes as long as to ask half of it."""
        current_stream = self.library.stream_of(self.gpu)
        read, make, made_at = self._read, self._make, self.inputs
        common, takes_out, stamp = self._buffers.copy, self._takes_out, self.stamp
        floats, rooms = self.floats, self._rooms
        are_kept, kept_room, new_room = rooms.are_kept, rooms.kept.get, rooms.new
        replays, begin, at_once = self._replays, self._begin, self.turns is None
        is_capturing = self.device.is_capturing
        has_pool = at_once and self.library.graph_pool

        def call(arrays: Sequence[Any], out: Any) -> Any:
            if stamp is not None and stamp != recent_stamp():
                return None
            stream = current_stream()
            if not has_pool and is_capturing(stream):
                return None
            buffers = common()
            if not read(arrays, buffers):
                return None
            if out is None:
                out, buffers[made_at] = make()
            elif not takes_out(out, arrays, buffers):
                return None
            if floats:
                # It is held here until all that works in it has been started.
                room = kept_room(stream) if are_kept else new_room()
                if room is not None:
                    buffers += room[1]
            if at_once and replays.replay(buffers, stream):
                return out
            return out if begin(buffers, stream) else None

        return call

    def _begin(self, buffers: list[int], stream: int) -> bool:
        """Start what was not replayed; False where the call must go the long way."""
        device = self.device
        if not device.is_current():
            return False
        captured = device.is_capturing(stream)
        first, rooms = len(self._buffers), self._rooms
        if self.floats and rooms.are_kept and (captured or len(buffers) == first):
            # As in a call, of which this may be the first on the stream.
            room = rooms.new() if captured else rooms.keep(stream)
            buffers[first:] = room[1]
        if captured or self.overlaps:
            # A graph cannot be launched into one that is being captured.
            self.launches.start(buffers, stream)
        elif self.turns is not None:
            self._start_in_turn(buffers, stream)
        else:
            self._replays.start(buffers, stream)
        return True

    def takes(self, arrays: Sequence[Any]) -> bool:
        """See `Repeated`."""
        return self._read(arrays, self._buffers.copy())

    def _takes_out(self, out: Any, arrays: Sequence[Any], buffers: list[Any]) -> bool:
        """Whether the caller's array can be written to; then its address is among the buffers."""
        if not self._read_out((out,), buffers) or out.shape != self.shape:
            return False
        begin = buffers[self.inputs]
        end = begin + out.nbytes
        for array, place in zip(arrays, self._places, strict=False):
            if array is not None and (at := buffers[place]) < end and begin < at + array.nbytes:
                return False
        return True

    @cached_property
    def _places(self) -> list[int]:
        """Where each array of the call stands among the buffers."""
        count = len(self.zeros) + 1
        return [place for place in range(count) if place != self.inputs]

    @cached_property
    def _buffers(self) -> list[Any]:
        """The addresses that every call has; those of its arrays and the output are yet to come."""
        inputs = self.inputs
        return [*self.zeros[:inputs], None, *self.zeros[inputs:], *self.stays]

    @cached_property
    def _read(self) -> Reader:
        return self.library.reader(self.gpu, self.dtypes, self._places)

    @cached_property
    def _read_out(self) -> Reader:
        return self.library.reader(self.gpu, [self.made], [self.inputs])

    @cached_property
    def _make(self) -> Callable[[], tuple[Any, int]]:
        return self.library.maker(self.shape, self.gpu, self.made)

    @cached_property
    def _rooms(self) -> Rooms:
        make = self.library.maker((self.floats,), self.gpu)
        return Rooms(make, self.floats, self.offsets)

    @cached_property
    def _replays(self) -> Replays:
        from rooftile.devices.cuda.replays import Replays

        return Replays(self.launches, self.device)

    def _start_in_turn(self, buffers: list[int], stream: int) -> None:
        self.turns.begin(stream)
        try:
            if not self._replays.replay(buffers, stream):
                self._replays.start(buffers, stream)
        finally:
            self.turns.end(stream)


Recipe = Callable[[], Repeated]


Kept = dict[tuple[type, tuple[int, ...], Any], Repeating]
"""Calls of one object with one array each, by the array's type, shape and dtype."""
_MOST_SHAPES = 64


def keep(kept: Kept, kind: tuple[type, tuple[int, ...], Any], repeat: Repeated) -> None:
    """Keep one more call, where all are dropped if there are too many."""
    if len(kept) >= _MOST_SHAPES:
        kept.clear()
    kept[kind] = repeat.quickest()


class _Now(threading.local):
    """The call that this thread is in: where it is to be kept, and by what."""

    call: tuple[dict[Any, tuple[Any, Repeating]], Any] | None = None


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
    _kinds.add(kind)
    if not repeat.takes(call[0]):
        return
    if len(seen) >= _MOST_KEPT:
        seen.clear()
    seen[key] = _types(call[1]), repeat.quickest()


def _key(arrays: Sequence[Any], options: dict[str, Any]) -> Any:
    shapes = [None if array is None else array.shape for array in arrays]
    return (arrays[0].dtype, *shapes, *options.items())


def _types(options: dict[str, Any]) -> Any:
    """Those of the options where one is a number: 1 and True are equal, and not equally good."""
    if not any(isinstance(value, Number) for value in options.values()):
        return None
    return tuple(map(type, options.values()))


def repeated(
    *names: str, turned: Sequence[str | None] = ()
) -> Callable[[Callable[_Of, _Made]], Callable[_Of, _Made]]:
    """For a public function whose first parameters are arrays of these names; `plain`, too.

    ``turned`` are the options that say of a matrix, in their order, that it lies transposed: a call
    with a view of a transpose is one with what it is a view of.
    """

    def of(function: Callable[_Of, _Made]) -> Callable[_Of, _Made]:
        seen: dict[Any, tuple[Any, Repeating]] = {}
        # Around the long way alone: a call that repeats one before has nothing to be refused.
        long_way: Callable[..., Any] = plain(function)

        def again(arrays: tuple[Any, ...], options: dict[str, Any], out: Any) -> Any:
            """The result of a call that was made before, else None."""
            try:
                types, repeat = seen[_key(arrays, options)]
            except (AttributeError, KeyError, TypeError):
                return None
            alike = types is None or types == tuple(map(type, options.values()))
            return repeat(arrays, out) if alike else None

        @wraps(function)
        def call(*given: Any, **options: Any) -> Any:
            if not options and len(given) == 1 and type(given[0]) in _kinds:
                # As below, with half of the steps: a small kernel takes no longer than these.
                known = seen.get((given[0].dtype, given[0].shape))
                if known is not None and (made := known[1](given, None)) is not None:
                    return made
            out: Any = options.pop("out", None) if options else None
            arrays: tuple[Any, ...] = given
            if options and len(given) < len(names):
                arrays = (*given, *_named(names[len(given) :], options))
            if arrays and type(arrays[0]) in _kinds:
                if (made := again(arrays, options, out)) is not None:
                    return made
                if turned and (views := _views(arrays, options, turned)) is not None:
                    arrays, options = views
                    if (made := again(arrays, options, out)) is not None:
                        return made
            before, _now.call = _now.call, (seen, (arrays, options))
            try:
                return long_way(*arrays, **options, out=out)
            finally:
                _now.call = before

        return call

    return of


def _views(
    arrays: tuple[Any, ...], options: dict[str, Any], turned: Sequence[str | None]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The call with what its matrices are views of; None where none is a view of a transpose."""
    found, told = list(arrays), dict(options)
    for number, (array, option) in enumerate(zip(arrays, turned, strict=False)):
        if option is None or len(getattr(array, "shape", ())) != 2:
            continue
        try:
            view = not _row_major(array) and _row_major(array.T)
        except (AttributeError, RuntimeError):
            # What the long way refuses, such as a sparse tensor.
            return None
        if view:
            found[number] = array.T
            told[option] = not told.get(option, False)
    return (tuple(found), told) if told != options else None


def _row_major(array: Any) -> bool:
    flags = getattr(array, "flags", None)
    return bool(array.is_contiguous() if flags is None else flags.c_contiguous)


def _named(names: Sequence[str], options: dict[str, Any]) -> list[Any]:
    """The arrays that were given by their names, as far as there is no gap."""
    found = []
    for name in names:
        if name not in options:
            break
        found.append(options.pop(name))
    return found
