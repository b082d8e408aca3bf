"""Numbers of NumPy and devices of PyTorch, where a public function expects Python's and a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import numpy as np

from rooftile.devices.names import name_of
from rooftile.errors import InputError

_Of = ParamSpec("_Of")
_Made = TypeVar("_Made")


def plain(function: Callable[_Of, _Made]) -> Callable[_Of, _Made]:
    """A public function that also takes scalars of NumPy, arrays without axes, and `torch.device`.

    A call that has no such argument costs nothing but this wrapper: arguments are looked at only
    where the function refuses them, and only what they mean in Python is tried then.
    """

    @wraps(function)
    def call(*given: _Of.args, **options: _Of.kwargs) -> _Made:
        try:
            return function(*given, **options)
        except (InputError, TypeError, ValueError) as error:
            refused: Exception = error
        # Outside of the handler, so that what the second call raises stands alone.
        changed = _changed(function, given, options)
        if changed is None:
            try:
                raise refused
            finally:
                # The error knows this frame, and the frame would keep its arrays.
                del refused
        given, options = changed  # type: ignore[assignment]
        return function(*given, **options)

    return call


def _changed(
    function: Callable[..., Any], given: tuple[Any, ...], options: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments in Python's words; None where they are already."""
    names = list(signature(function).parameters)
    kinds = getattr(function, "__annotations__", {})
    own = {*names}
    pairs = [(name, value) for name, value in zip(names, given, strict=False)]
    more = given[len(pairs) :]
    made = [_plain(name, value, kinds.get(name, "")) for name, value in pairs]
    named = {
        name: _plain(name, value, kinds.get(name, "")) if name in own else value
        for name, value in options.items()
    }
    same = all(a is b for (_, a), b in zip(pairs, made, strict=True))
    if same and all(named[name] is value for name, value in options.items()):
        return None
    return (*made, *more), named


def _plain(name: str, value: Any, kind: Any) -> Any:
    """A value in Python's words; the value itself where there is nothing to say otherwise."""
    if name == "device":
        return name_of(value)
    if isinstance(value, np.generic):
        return value.item() if value.dtype.kind in "biuf" else value
    if isinstance(value, np.ndarray) and not value.shape:
        number = any(word in str(kind) for word in ("int", "float", "bool"))
        return value.item() if number and value.dtype.kind in "biuf" else value
    if type(value) in (tuple, list):
        made = [_plain("", one, "int") for one in value]
        if any(a is not b for a, b in zip(made, value, strict=True)):
            return type(value)(made)
    return value
