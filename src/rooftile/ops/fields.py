"""A problem's fields as records hold them: the history, the winners, JSON."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

LATER: Final = {"later": True}
"""Metadata of a field that came when records without it were about: they have its default."""


def fields_of(value: Any) -> Any:
    """A problem's fields by name, dataclasses among them likewise.

    A later field with its default is left out: a record from before it is of the same problem.
    """
    if not dataclasses.is_dataclass(value):
        return value
    given = ((field, getattr(value, field.name)) for field in dataclasses.fields(value))
    return {
        field.name: fields_of(one)
        for field, one in given
        if not (field.metadata == LATER and one == field.default)
    }


def text_of(problem: Any) -> str:
    """See `rooftile.ops.Problem.text`."""
    # A call needs it where something was tuned, and not before.
    import json

    fields: dict[str, Any] = fields_of(problem)
    if problem.batch_size is not None:
        fields.pop("batch", None)
    return json.dumps({"operation": problem.operation, **fields})


def batch_of(problem: Any) -> int:
    """The batch that a record is of: 1 where the problem has no batch axis."""
    return problem.batch_size or 1
