"""Objects from files as the annotations of a class say that they are."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from typing import (
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

T = TypeVar("T")


def formed(kind: type[T], value: object, name: str = "") -> T:
    """A dataclass from its JSON object, and its fields' objects likewise.

    A field that the object lacks has the class's default. ``name`` is the object's path in
    messages. Raises `ValueError` where something is missing, unknown, or of another type.
    """
    return cast(T, _formed(kind, value, name or kind.__name__))


def _formed(kind: Any, value: Any, name: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in (Any, object):
        return value
    if origin in (Union, types.UnionType):
        if value is None and types.NoneType in arguments:
            return None
        (kept,) = (one for one in arguments if one is not types.NoneType)
        return _formed(kept, value, name)
    if origin is Literal:
        return _if(value in arguments, value, name, f"one of {list(arguments)}")
    if origin is tuple:
        _if(isinstance(value, list | tuple), value, name, "a list")
        return tuple(_formed(arguments[0], one, f"{name}[{k}]") for k, one in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        _if(isinstance(value, Mapping), value, name, "an object")
        return {key: _formed(arguments[1], one, f"{name}.{key}") for key, one in value.items()}
    if is_typeddict(kind) or dataclasses.is_dataclass(kind):
        return _fields(kind, value, name)
    number = kind is float and isinstance(value, int)
    right = (number or isinstance(value, kind)) and (kind is bool or not isinstance(value, bool))
    return _if(right, value, name, kind.__name__)


def _fields(kind: Any, value: Any, name: str) -> Any:
    _if(isinstance(value, Mapping), value, name, "an object")
    hints = get_type_hints(kind)
    if is_typeddict(kind):
        needed, allowed = set(kind.__required_keys__), set(value)
    else:
        fields = dataclasses.fields(kind)
        missing = dataclasses.MISSING
        needed = {f.name for f in fields if f.default is missing is f.default_factory}
        allowed = {f.name for f in fields}
    for key in sorted(needed - set(value)):
        raise ValueError(f"{name} has no {key!r}")
    for key in sorted(set(value) - allowed):
        raise ValueError(f"{name} has {key!r}, which nobody knows")
    made = {key: _formed(hints.get(key, Any), one, f"{name}.{key}") for key, one in value.items()}
    return made if is_typeddict(kind) else kind(**made)


def _if(right: bool, value: Any, name: str, expected: str) -> Any:
    if not right:
        raise ValueError(f"{name} is {value!r:.60}, expected {expected}")
    return value
