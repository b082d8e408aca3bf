"""Memory that a bound strategy holds, of any kind."""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any

import numpy as np

_PLAIN = (str, bytes, int, float, complex, bool, type(None), type)


def bytes_held(call: Any) -> int:
    """Bytes of the NumPy arrays that can be reached from an object of this package's.

    It goes through attributes, containers, and what functions and methods are bound to.  A piece of
    memory counts once.
    """
    seen, arrays, waiting = set[int](), dict[int, int](), [call]
    while waiting:
        one = waiting.pop()
        if isinstance(one, _PLAIN) or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            owner = _owner(one)
            arrays[id(owner)] = owner.nbytes
        else:
            waiting += _parts(one)
    return sum(arrays.values())


def _owner(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array whose memory this is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _parts(one: Any) -> list[Any]:
    if isinstance(one, dict):
        return list(one.values())
    if isinstance(one, list | tuple | set | frozenset):
        return list(one)
    if isinstance(one, MethodType):
        return [one.__self__]
    if isinstance(one, FunctionType):
        return [cell.cell_contents for cell in one.__closure__ or () if _is_filled(cell)]
    if type(one).__module__.startswith("rooftile."):
        return list(getattr(one, "__dict__", {}).values())
    return []


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
