"""Objects from files as the annotations of a class say that they are."""

from __future__ import annotations

from typing import TypeVar

import msgspec

T = TypeVar("T")


def formed(kind: type[T], value: object, name: str = "") -> T:
    """A dataclass, or another annotated type, from its JSON object.

    A field that the object lacks has the class's default; a key that the class lacks is ignored,
    so that a record of a later version can be read.  ``name`` says where the object is.  Raises
    `ValueError` where something is missing or of another type.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{name or kind.__name__}: {error}") from None
