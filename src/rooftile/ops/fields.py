"""A problem's fields as records hold them: the history, the winners, JSON."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rooftile.ops.problem import Problem

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


@lru_cache(maxsize=1024)
def problem_text(problem: Problem) -> str:
    """A problem in one line of JSON, always the same one, whatever the batch."""
    # A call needs it where something was tuned, and not before.
    import json

    fields: dict[str, Any] = fields_of(problem)
    if problem.batch_size is not None:
        fields.pop("batch", None)
    return json.dumps({"operation": problem.operation, **fields})


def batch_of(problem: Problem) -> int:
    """The batch that a record is of: 1 where the problem has no batch axis."""
    return problem.batch_size or 1
