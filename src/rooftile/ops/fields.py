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
