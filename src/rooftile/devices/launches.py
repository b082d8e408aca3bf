"""Consecutive launches as data, and the plain way to start them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rooftile.devices.gpu import Argument, Launch, TensorMap
from rooftile.errors import UnsupportedProblem


@dataclass(frozen=True)
class Call:
    """A launch of a program's kernel.

    An argument is the name of a buffer that comes with each start, a tensor map of such a buffer,
    a buffer that stays, or a NumPy scalar of the kernel's type.
    """

    program: Any
    launch: Launch
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class FillConstant:
    """A copy of ``count`` float32 of a buffer, from element ``first`` on, to a constant array."""

    program: Any
    constant: str
    source: Argument
    first: int
    count: int


class PlainLaunches:
    """Launches that go through `Program`, one by one."""

    overlaps = False

    def __init__(self, work: Sequence[Call | FillConstant], names: Sequence[str]) -> None:
        """Raises `UnsupportedProblem` for a tensor map."""
        self._work, self._names = work, tuple(names)
        given = (a for one in work if isinstance(one, Call) for a in one.arguments)
        for argument in given:
            if isinstance(argument, TensorMap):
                raise UnsupportedProblem(
                    argument.array, "OpenCL has no bulk copy engine", "a CUDA device"
                )

    def start(self, buffers: Sequence[Any]) -> None:
        given = dict(zip(self._names, buffers, strict=True))
        for one in self._work:
            if isinstance(one, FillConstant):
                source = _argument(one.source, given)
                one.program.fill_constant(one.constant, source, one.first, one.count)
            else:
                arguments = (_argument(argument, given) for argument in one.arguments)
                one.program.launch(one.launch, *arguments)


def _argument(argument: Argument, given: Mapping[str, Any]) -> Argument:
    return given[argument] if isinstance(argument, str) else argument
