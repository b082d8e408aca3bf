"""Problems whose arrays are stored otherwise: in fewer bits, or with their channels last.

`Problem.stored` makes them: ``problem.stored(x="float16", y="float16:channels_last")``.  Such a
problem is of the class of its plain one, with arrays, bytes, inputs, reference and budget of its
own.  Its features name what differs, as ``storage:x:float16``, so that a strategy must take it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import Any, ClassVar, get_args

from rooftile.errors import InputError, unknown
from rooftile.ops.array import DTYPES, AnyArray, Array, Dtype, Layout
from rooftile.ops.judgement import Judgement, Properties
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import Problem

_NARROWER: dict[Dtype, tuple[Dtype, ...]] = {"float32": ("float32", "float16", "bfloat16")}
"""Dtypes in which the values of an array may be stored."""
_LAYOUTS: tuple[Layout, ...] = get_args(Layout)
_OF_PLACES: tuple[Dtype, ...] = ("int32", "uint8")
"""Dtypes of an array of places: see `rooftile.ops.layers.positions`."""

Storage = tuple[tuple[str, str], ...]
"""Names of arrays, each with its dtype and layout as ``float16:channels_last``."""


class Stored(Problem):
    """Comes before the class of an operation.  ``plain`` is the problem whose arrays it stores."""

    plain_class: ClassVar[type[Problem]]
    storage: Storage

    @cached_property
    def plain(self) -> Problem:
        """The problem with its arrays in the operation's own dtypes, row-major."""
        given = {field.name: getattr(self, field.name) for field in fields(self.plain_class)}  # type: ignore[arg-type]
        return self.plain_class(**given)

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={how!r}" for name, how in self.storage)
        return f"{self.plain!r}.stored({told})"

    def __reduce__(self) -> tuple[Any, ...]:
        return stored, (self.plain, dict(self.storage))

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """The arrays of the plain problem as they are stored."""
        how = dict(self.storage)
        return tuple(
            _as(array, how[array.name]) if array.name in how else array
            for array in self.plain.arrays
        )

    def in_words(self) -> str:
        told = ", ".join(f"{name} in {how.replace(':', ', ')}" for name, how in self.storage)
        return f"{self.plain.in_words()}, {told}"

    def described_features(self) -> dict[str, str]:
        """The features of the plain problem; ``storage:x:float16`` and ``storage:x:channels_last``
        for each array that is stored so."""
        found = self.plain.described_features()
        for name, how in self.storage:
            for one in how.split(":"):
                found[f"storage:{name}:{one}"] = f"{name} stored as {one}"
        return found

    def reference(self, *arrays: Any) -> Any:
        """The outputs of the plain problem from the values that the arrays stand for."""
        return self.plain.reference(*self._values(arrays))

    def magnitude(self, *arrays: Any) -> Any:
        return self.plain.magnitude(*self._values(arrays))

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        own = next(one for one in self.plain.output_arrays if one.name == output.name)
        judgement = self.plain.judgement(own, model)
        if not isinstance(judgement, Properties):
            return judgement
        count, wrong = len(self.output_arrays), judgement.wrong

        def wrong_as_stored(*arrays: Any) -> Any:
            outputs = self.plain.values_of(self.output_arrays, arrays[:count])
            return wrong(*outputs, *self._values(arrays[count:]))

        return Properties(wrong_as_stored)

    def moved(self) -> Mapping[str, int]:
        """The bytes of each array, in proportion to its elements' as stored."""
        found = dict(self.plain.moved())
        for own, array in zip(self.plain.arrays, self.arrays, strict=True):
            if own.name in found:
                found[own.name] = found[own.name] * array.itemsize // own.itemsize
        return found

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """The plain problem's inputs, as they are stored."""
        return self._kept(self.plain.random(seed))

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """The plain problem's inputs, as they are stored."""
        return {kind: self._kept(arrays) for kind, arrays in self.plain.hard(seed).items()}

    def _values(self, arrays: Sequence[AnyArray]) -> tuple[AnyArray, ...]:
        return self.plain.values_of(self.given_arrays, arrays)

    def _kept(self, values: Sequence[AnyArray]) -> tuple[AnyArray, ...]:
        return self.plain.as_stored(self.given_arrays, values)


def stored(problem: Problem, how: Mapping[str, str]) -> Any:
    """See `Problem.stored`."""
    plain = problem.plain
    known = {array.name: array for array in plain.arrays}
    before = dict(getattr(problem, "storage", ()))
    for name in how:
        if name not in known:
            raise unknown("stored", name, known)
    asked = {name: _normal(known[name], told) for name, told in {**before, **how}.items()}
    storage = tuple((name, asked[name]) for name in known if asked.get(name))
    if not storage:
        return plain
    given = {field.name: getattr(plain, field.name) for field in fields(plain)}  # type: ignore[arg-type]
    return _class_of(type(plain))(**given, storage=storage)


@cache
def _class_of(plain: type[Problem]) -> Any:
    """The class of an operation's stored problems."""
    members = {
        "__module__": plain.__module__,
        "__qualname__": f"Stored{plain.__qualname__}",
        "__annotations__": {"storage": Storage},
        "__doc__": plain.__doc__,
        "storage": dataclasses.field(kw_only=True),
        "plain_class": plain,
    }
    return dataclass(frozen=True, repr=False)(
        type(f"Stored{plain.__name__}", (Stored, plain), members)
    )


def _normal(array: Array, told: str) -> str:
    """The difference from the plain array, in normal form; empty where there is none."""
    dtypes = _OF_PLACES if array.places else _NARROWER.get(array.dtype, (array.dtype,))
    layouts: tuple[Layout, ...] = _LAYOUTS if len(array.shape) == 4 else ("row_major",)
    words = told.split(":")
    if wrong := [word for word in words if word not in (*dtypes, *layouts)]:
        expected = f"one of {[*dtypes, *layouts]}, or both as 'float16:channels_last'"
        raise InputError(f"stored {array.name}", repr(wrong[0]), expected)
    made = _as(array, told)
    dtype = made.dtype if made.dtype != array.dtype else ""
    layout = made.layout if made.layout != array.layout else ""
    return ":".join(filter(None, (dtype, layout)))


def _as(array: Array, how: str) -> Array:
    """An array as it is stored."""
    words = how.split(":")
    dtype = next((one for one in DTYPES if one in words), array.dtype)
    layout = next((one for one in _LAYOUTS if one in words), array.layout)
    return replace(array, dtype=dtype, layout=layout)


__all__ = ["Stored", "stored"]
