"""The fast path of repeated calls: the same function or object, kinds of arrays, shapes and
options.

The decisions of the first call are kept. A repeated call only checks that its arrays are as plain
as the first ones, and launches; any other call takes the full path, which checks and explains.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, wraps
from inspect import Parameter, signature
from numbers import Number
from typing import Any, ParamSpec, TypeVar

from rooftile.runtime.calls.plain import plain

MOST_KEPT = 1024
"""Largest number of kept calls of a function or an object; where one more comes, all are
dropped."""

_Of = ParamSpec("_Of")
_Made = TypeVar("_Made")


Repeat = Callable[[Any, Any], Any]
"""``call(arrays, out)`` computes what a call before did, of a tuple of arrays: the output, or None
where the call must go the long way."""
Calls = dict[Any, tuple[Any, Repeat]]
"""Calls that were made before, by the type and the dtype of the first array, the shapes of all, and
the options; each with the options' types, where they matter."""
Recipe = Callable[[Sequence[Any]], Repeat | None]
"""A function that makes the repeat of a call with arrays like these; None where they are not
plain."""


def keep(calls: Calls, key: Any, repeat: Repeat | None, types: Any = None) -> None:
    """Keep one more call, where there is what repeats it."""
    if repeat is not None:
        if len(calls) >= MOST_KEPT:
            calls.clear()
        calls[key] = types, repeat


def key_of(arrays: Sequence[Any], options: dict[str, Any]) -> Any:
    """The key of a kept call. Raises `AttributeError` for an argument that is no array."""
    first = arrays[0]
    shapes = [None if array is None else array.shape for array in arrays]
    return (type(first), first.dtype, *shapes, *options.items())


class _Now(threading.local):
    """The call that this thread is in: where it is to be kept, and by what."""

    call: tuple[Calls, Sequence[Any], Sequence[dict[str, Any]]] | None = None


_now = _Now()


def note(recipe: Recipe) -> None:
    """Keep what the present call of a public function launches."""
    if _now.call is None:
        return
    calls, arrays, spellings = _now.call
    try:
        keys = [key_of(arrays, options) for options in spellings]
        hash(keys[0])
    except (AttributeError, TypeError):
        return
    if (repeat := recipe(arrays)) is not None:
        for key, options in zip(keys, spellings, strict=True):
            keep(calls, key, repeat, _types(options))


def _types(options: dict[str, Any]) -> Any:
    """The types of options that are numbers: 1 and True are equal, and not equally valid."""
    if not any(isinstance(value, Number) for value in options.values()):
        return None
    return tuple(map(type, options.values()))


def _known(calls: Calls, arrays: Sequence[Any], options: dict[str, Any]) -> Repeat | None:
    """The repeat of a call that was made before, else None."""
    try:
        types, repeat = calls[key_of(arrays, options)]
    except (AttributeError, KeyError, TypeError):
        return None
    return repeat if types is None or types == tuple(map(type, options.values())) else None


class _LongWay:
    """A call that nobody has made with its options spelled so: it may have been made with others,
    else it is checked and computed by the function."""

    def __init__(self, function: Callable[..., Any], calls: Calls) -> None:
        # Around this way alone: a call that repeats one before has nothing to be refused.
        self._function, self._calls = plain(function), calls

    def __call__(self, arrays: tuple[Any, ...], options: dict[str, Any], out: Any) -> Any:
        calls, short = self._calls, self._shortest(options)
        repeat = _known(calls, arrays, short) if [*short] != [*options] else None
        if repeat is not None and (made := repeat(arrays, out)) is not None:
            keep(calls, key_of(arrays, options), repeat, _types(options))
            return made
        before, _now.call = _now.call, (calls, arrays, (options, short))
        try:
            return self._function(*arrays, **options, out=out)
        finally:
            _now.call = before

    @cached_property
    def _parameters(self) -> Mapping[str, Parameter]:
        return signature(self._function).parameters

    def _shortest(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options without those that are the defaults, in one order."""
        places = self._parameters
        return {
            name: options[name]
            for name in sorted(options)
            if name not in places or not _same(options[name], places[name].default)
        }


def repeated(
    *names: str, turned: Sequence[str | None] = ()
) -> Callable[[Callable[_Of, _Made]], Callable[_Of, _Made]]:
    """For a public function whose first parameters are arrays of these names; `plain`, too.

    ``turned`` are the options, in the order of the matrices, for transposed storage: a call with a
    view of a transpose is a call with the viewed matrix.
    """

    def of(function: Callable[_Of, _Made]) -> Callable[_Of, _Made]:
        calls: Calls = {}
        long_way = _LongWay(function, calls)

        @wraps(function)
        def call(*given: Any, **options: Any) -> Any:
            if not options and len(given) == 1:
                # As below, with half of the steps: a small kernel takes no longer than these.
                x = given[0]
                try:
                    known = calls[type(x), x.dtype, x.shape]
                except (AttributeError, KeyError, TypeError):
                    pass
                else:
                    if (made := known[1](given, None)) is not None:
                        return made
            out: Any = options.pop("out", None) if options else None
            arrays: tuple[Any, ...] = given
            if options and len(given) < len(names):
                arrays = (*given, *_named(names[len(given) :], options))
            if arrays:
                repeat = _known(calls, arrays, options)
                if repeat is not None and (made := repeat(arrays, out)) is not None:
                    return made
                if turned and (views := _views(arrays, options, turned)) is not None:
                    arrays, options = views
                    repeat = _known(calls, arrays, options)
                    if repeat is not None and (made := repeat(arrays, out)) is not None:
                        return made
            return long_way(arrays, options, out)

        return call

    return of


def _same(value: Any, default: Any) -> bool:
    """True if an option says what its default does: 0.0 and -0.0 are equal, and not the same."""
    if value is default:
        return True
    return type(value) is type(default) and isinstance(value, str | int) and value == default


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
