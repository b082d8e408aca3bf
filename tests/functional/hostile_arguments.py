"""Call public functions with wrong arguments; a program, so that a crash ends no test.

    python -m tests.functional.hostile_arguments SEED COUNT [FIRST]

prints the number of each call before it is made, then what is wrong: an error that is neither of
rooftile's family nor Python's TypeError.  ``COUNT`` calls are drawn from all; 0 makes all of them.
"""

from __future__ import annotations

import faulthandler
import inspect
import os
import random
import resource
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import rooftile

from .valid_calls import CALLS, FUNCTIONS

_MOST_SECONDS, _MOST_BYTES = 20, 8 * 2**30


class _Odd:
    """An object of no use."""

    __array_interface__ = 7


def _read_only(array: Any) -> Any:
    made = np.array(array)
    made.flags.writeable = False
    return made


ANY: dict[str, Any] = {
    "None": None, "[]": [], "[1]": [1], "()": (), "{}": {}, "3": 3, "0": 0, "-1": -1,
    "2**31": 2**31, "2**63": 2**63, "-2**63-1": -(2**63) - 1, "2**200": 2**200, "10**400": 10**400,
    "nan": float("nan"), "inf": float("inf"), "1.5": 1.5, "1j": 1j, "True": True, "x": "x",
    "empty text": "", "a null": "a\0b", "bytes": b"x", "object": object(), "class": int,
    "(0, 0)": (0, 0), "(2**63, 1)": (2**63, 1), "(1, None)": (1, None), "('max', 2**63)":
    ("max", 2**63), "('max', None)": ("max", None), "(1, 2, 3, 4, 5)": (1, 2, 3, 4, 5),
    "[[1], [2, 3]]": [[1], [2, 3]], "{1}": {1}, "np.int8(3)": np.int8(3),
    "np.nan": np.float32("nan"),
    "np.datetime64": np.datetime64("2020-01-01"), "range(3)": range(3), "an odd object": _Odd(),
    "0-d": np.zeros((), np.float32), "empty": np.zeros(0, np.float32),
    "empty 2-d": np.zeros((0, 3), np.float32), "one": np.zeros(1, np.float32),
    "5-d": np.zeros((1,) * 5, np.float32), "33-d": np.zeros((1,) * 33, np.float32),
    "complex": np.zeros(4, np.complex64), "objects": np.array([None, 3], object),
    "text": np.array(["a", "b"]), "dates": np.zeros(3, "datetime64[s]"),
    "structured": np.zeros(3, [("a", "f4")]), "void": np.zeros(3, "V5"),
    "masked": np.ma.masked_array([1.0, 2.0], [True, False]), "matrix": np.eye(2),
    "int64 extremes": np.array([-(2**63), 2**63 - 1]), "uint64": np.array([2**64 - 1], np.uint64),
}  # fmt: skip
"""What nobody asked for, by how it is called."""

OF_ARRAYS: dict[str, Callable[[Any], Any]] = {
    "float64": lambda a: a.astype(np.float64), "int64": lambda a: a.astype(np.int64),
    "float16": lambda a: a.astype(np.float16), "bool": lambda a: a.astype(bool),
    "one axis more": lambda a: a[None], "one axis less": lambda a: a[0],
    "one element less": lambda a: a[..., :-1], "none": lambda a: a[:0],
    "0-d of it": lambda a: a.reshape(-1)[0],
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "backwards": lambda a: a[::-1], "strided": lambda a: np.repeat(a, 2, -1)[..., ::2],
    "turned": lambda a: np.asfortranarray(a), "read-only": _read_only,
    "broadcast": lambda a: np.broadcast_to(a.reshape(-1)[:1], a.shape), "nan": lambda a: a * np.nan,
    "negative": lambda a: -1 - a, "huge": lambda a: np.full_like(a, 2**30),
    "a list": lambda a: a.tolist(),
    "unaligned": lambda a: np.frombuffer(b"x" + a.tobytes(), a.dtype, a.size, 1).reshape(a.shape),
}  # fmt: skip
"""What is made of a valid array."""

Case = tuple[str, str, str, Callable[[], Any]]


def cases() -> list[Case]:
    """Function, argument, what is wrong with it, and what makes it."""
    made: list[Case] = []
    for name in FUNCTIONS:
        valid = CALLS[name](12)
        for argument in inspect.signature(getattr(rooftile, name)).parameters:
            for label, value in ANY.items():
                made.append((name, argument, label, lambda value=value: value))
            given = valid.get(argument)
            if argument == "out":
                given = _result(name, valid)
            if isinstance(given, np.ndarray):
                for label, change in OF_ARRAYS.items():
                    made.append((name, argument, label, lambda c=change, g=given: c(g)))
    return made


def _result(name: str, valid: dict[str, Any]) -> Any:
    made = getattr(rooftile, name)(**valid)
    return made[0] if isinstance(made, tuple) else made


def wrong(case: Case) -> str | None:
    """What is wrong with how a call ends; None where nothing is."""
    name, argument, label, make = case
    told = f"{name}({argument}={label})"
    try:
        value = make()
    except (TypeError, ValueError, IndexError, OverflowError):
        return None  # There is no such array.
    signal.alarm(_MOST_SECONDS)
    try:
        getattr(rooftile, name)(**{**CALLS[name](12), argument: value})
    except (rooftile.RooftileError, TypeError):
        return None
    except BaseException as error:
        return f"{told}: {type(error).__name__}: {str(error)[:200]}"
    finally:
        signal.alarm(0)
    return None


def main() -> None:
    """Make the calls."""
    faulthandler.enable()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    seed, count, first = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3] if sys.argv[3:] else 0)
    every = cases()
    order = random.Random(seed).sample(range(len(every)), count or len(every))
    for at in order[first:]:
        name, argument, label, _ = every[at]
        os.write(1, f"> {name}({argument}={label})\n".encode())
        found = wrong(every[at])
        if found:
            os.write(1, f"! {found}\n".encode())


if __name__ == "__main__":
    main()
