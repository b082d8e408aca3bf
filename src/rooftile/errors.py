"""The closed family of errors that rooftile raises.

Every message names what was given, what was expected and, where it helps, what
to do instead.  A wrong result is never returned in place of an error.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Any


class RooftileError(Exception):
    """Base of every error that rooftile raises on purpose.

    An error can be pickled and copied, so that one process can raise it in another.  An attribute
    that cannot be pickled itself becomes its `repr` on the way.
    """

    def __reduce__(self) -> tuple[Callable[..., RooftileError], tuple[Any, ...], dict[str, Any]]:
        """The message is taken as it is: constructors have other arguments."""
        held = {name: _picklable(value) for name, value in vars(self).items()}
        return _made_again, (type(self), self.args), held


def _made_again(kind: type[RooftileError], said: tuple[Any, ...]) -> RooftileError:
    """An error with a message, before it has its attributes."""
    # The `__new__` that a subclass of `MemoryError` has too: its other base refuses.
    error: RooftileError = Exception.__new__(kind)
    error.args = said
    return error


def _picklable(value: object) -> object:
    """A value, or its `repr` where it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(value))
    # Objects raise whatever they like there.
    except Exception:
        return repr(value)
    return value


class RooftileWarning(UserWarning):
    """Base of every warning of rooftile."""


class TrainingWarning(RooftileWarning):
    """A training does not learn: what is wrong, and what helps."""


def warn(message: str, kind: type[RooftileWarning]) -> None:
    """Warn, and point at the line outside of rooftile that led here."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").startswith("rooftile."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level)


class InputError(RooftileError, ValueError):
    """An argument (or a file) is not what the function takes."""

    def __init__(self, argument: str, value: object, expected: str) -> None:
        self.argument, self.value, self.expected = argument, value, expected
        super().__init__(f"{argument}: got {value}; expected {expected}")


def unknown(argument: str, name: object, known: Iterable[object], more: str = "") -> InputError:
    """The refusal of a name that is none of those known, with the nearest of them: *did you mean*.

    ``more`` is what else is expected, behind the names.
    """
    names = list(known)
    return InputError(argument, _shown(name), f"one of {names}{more}{did_you_mean(name, names)}")


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """``; did you mean 'relu'?`` where a name that is known is spelled nearly so; else nothing."""
    from difflib import get_close_matches

    if not isinstance(name, str):
        return ""
    names = {str(one).lower(): one for one in known if isinstance(one, str)}
    near = get_close_matches(name.lower(), names, n=1)
    return f"; did you mean {names[near[0]]!r}?" if near else ""


class UnsupportedProblem(RooftileError):
    """A strategy was asked for a problem that it does not take."""

    def __init__(self, strategy: str, reason: str, instead: str = "") -> None:
        self.strategy, self.reason, self.instead = strategy, reason, instead
        hint = f"; use {instead} instead" if instead else ""
        super().__init__(f"strategy {strategy!r} does not take this problem: {reason}{hint}")


class DeviceMissing(RooftileError):
    """A device, driver or run-time library was not found."""

    def __init__(self, looked_for: str, install: str) -> None:
        self.looked_for, self.install = looked_for, install
        super().__init__(f"not found: {looked_for}; to install: {install}")


class CompileFailure(RooftileError):
    """A compiler refused a kernel; its log and the source's place are kept."""

    def __init__(self, kernel: str, log: str, source: str) -> None:
        self.kernel, self.log, self.source = kernel, log, source
        super().__init__(f"kernel {kernel!r} did not compile (source kept in {source}):\n{log}")


class VerificationFailure(RooftileError):
    """A result is outside its error budget."""

    def __init__(
        self, index: Sequence[int], got: float, expected: float, budget: float, what: str = "result"
    ) -> None:
        self.index, self.got, self.expected, self.budget = tuple(index), got, expected, budget
        super().__init__(
            f"{what} is wrong: worst element {self.index} is {got!r}, "
            f"reference {expected!r}, budget {budget:.3g}"
        )


class OutOfMemory(RooftileError, MemoryError):
    """An allocation would not fit."""

    def __init__(self, asked: int, free: int, what: str) -> None:
        self.asked, self.free, self.what = asked, free, what
        super().__init__(
            f"out of memory: {what} needs {asked / 2**20:.0f} MiB, {free / 2**20:.0f} MiB are free"
        )


def check_word(argument: str, value: object, among: Iterable[str]) -> None:
    """Raise `InputError` unless a value is one of some words; anything else may be given."""
    words = list(among)
    if not isinstance(value, str) or value not in words:
        raise unknown(argument, value, words)


def check_flag(argument: str, value: object) -> None:
    """Raise `InputError` unless a value is True or False, of Python or NumPy, or 1 or 0."""
    if type(value).__name__ not in ("bool", "bool_") and not (
        isinstance(value, int) and value in (0, 1)
    ):
        raise InputError(argument, _shown(value), "True or False")


def _shown(value: object) -> str:
    """A value as a message shows it: an array by its shape."""
    shape = getattr(value, "shape", None)
    return repr(value) if shape is None else f"a {type(value).__name__} of shape {tuple(shape)}"
