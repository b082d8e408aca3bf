"""Problems by name, or from ``key=value`` pairs as the command line gives them."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any

from rooftile.errors import InputError, did_you_mean, unknown
from rooftile.ops import registry
from rooftile.ops.checks import (
    boolean_from_text,
    integer_from_text,
    number_from_text,
    pair_from_text,
)
from rooftile.ops.climbed import Climbed
from rooftile.ops.problem import Problem

STORED = " stored "
"""Between the text of a problem and how its arrays are stored."""


def operations() -> list[str]:
    """Names of the operations."""
    return list(registry.operations())


def names(operation: str) -> list[str]:
    """Names of an operation's problems; there are none where the operation is unknown."""
    known = registry.operations()
    return sorted(known[operation].named) if operation in known else []


def default_shape(operation: str) -> str:
    """The named problem that stands for an operation where none is named: its first.

    Raises `InputError` for an unknown operation.
    """
    return next(iter(registry.operation(operation).named))


def climbed_shapes(operation: str, kind: str = "cpu", *, large: bool = False) -> Climbed:
    """The named problems that are climbed where none is named, on a ``kind`` of device.

    They are those at which even the textbook's rungs take seconds on a CPU; on CUDA, where these
    would be too small, the first named problem, unless the textbook's have several forms.
    ``large`` asks for a problem for the fastest rungs.  Raises `InputError` for an unknown
    operation.
    """
    found = registry.operation(operation)
    if large:
        return found.large
    if kind == "cuda" and len(found.textbook.shapes) == 1:
        return Climbed.of(default_shape(operation))
    return found.textbook


def named(operation: str, shape: str, batch: int | None = None) -> Problem:
    """The problem of an operation called ``shape``, for ``batch`` (or its own default)."""
    problems = registry.operation(operation).named
    if shape not in problems:
        raise unknown("shape", shape, sorted(problems), more=", or key=value pairs")
    entry: Any = problems[shape]
    if isinstance(entry, Problem):
        return entry if batch is None else entry.with_batch(batch)
    build, default = entry
    problem: Problem = build(default if batch is None else batch)
    return problem


def parse(operation: str, shape: str, batch: int | None = None) -> Problem:
    """A named problem, or one from ``key=value`` pairs separated by commas; after either, how its
    arrays are stored, as in ``lenet-conv1 stored x=float16,out=float16:channels_last``.

    Values are integers, ``AxB`` pairs, 0 or 1 for no or yes, or words; a pool is ``max:2``,
    ``average:3x3:2``, ``l2:2:2:sigmoid`` (kind, window, stride, activation after it); several words
    are joined as ``returns=y+argmax``. Example:
    ``channels=3,height=64,width=64,maps=8,mask=5x5,padding=2x2,pool=max:2``.
    """
    shape, _, storage = shape.partition(STORED)
    plain = _plain(operation, shape, batch)
    if not storage:
        return plain
    made: Problem = plain.stored(**dict(map(_storage, storage.split(","))))
    return made


def _storage(item: str) -> tuple[str, str]:
    """The name of an array, and how it is stored."""
    name, equals, how = item.partition("=")
    if not equals or not how:
        raise InputError("stored", repr(item), "NAME=DTYPE, NAME=LAYOUT or NAME=DTYPE:LAYOUT")
    return name, how


def _plain(operation: str, shape: str, batch: int | None) -> Problem:
    """The problem of a shape whose arrays are in the operation's own dtypes, row-major."""
    if "=" not in shape:
        return named(operation, shape, batch)
    kind = registry.operation(operation).problem
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(kind)
    values: dict[str, Any] = {"batch": 1} if "batch" in fields else {}
    if batch is not None:
        values["batch"] = batch
    for item in shape.split(","):
        key, _, text = item.partition("=")
        if key not in fields:
            raise InputError(
                "shape", repr(key), f"a key among {sorted(fields)}{did_you_mean(key, fields)}"
            )
        values[key] = _value(key, text, hints[key])
    missing = [
        name
        for name, field in fields.items()
        if name not in values and field.default is dataclasses.MISSING
    ]
    if missing:
        raise InputError("shape", repr(shape), f"values for {missing} too")
    if "batch" in values and "batch" not in fields:
        raise InputError("batch", batch, f"None: {operation} has no batch axis")
    return kind(**values)


def _value(key: str, text: str, hint: Any) -> object:
    """A field's value by its type."""
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    for kind in kinds:
        if hasattr(kind, "from_text"):
            return kind.from_text(text)
    if bool in kinds:
        return boolean_from_text(key, text)
    if int in kinds:
        return integer_from_text(key, text)
    if float in kinds:
        return number_from_text(key, text)
    if typing.get_origin(hint) is tuple:
        if typing.get_args(hint) == (int, int):
            return pair_from_text(key, text)
        if str in typing.get_args(hint):
            return tuple(text.split("+"))
        return tuple(integer_from_text(key, part) for part in text.split("x"))
    return text
