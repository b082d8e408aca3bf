"""Vectors whose lanes are other vectors' lanes in another order; see `vector` for the names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rooftile.devices.cpu.native.types import Function, Value

if TYPE_CHECKING:
    from rooftile.devices.cpu.native.expressions import Expressions


def _every_second(start: int) -> Callable[[Expressions, list[Value]], Value]:
    def write(to: Expressions, given: list[Value]) -> Value:
        x, y = given
        return _shuffled(to, x, y, range(start, 2 * to.lanes, 2))

    return write


def _woven(high: bool) -> Callable[[Expressions, list[Value]], Value]:
    def write(to: Expressions, given: list[Value]) -> Value:
        from rooftile.devices.cpu.native.instructions import KernelError

        x, y, by = given
        if by.literal not in (1, 2, 4, 8) or 2 * by.literal > to.lanes:
            raise KernelError("lanes are woven by a literal, a power of two below their number")
        group, half = by.literal, max(2, by.literal)
        starts = range(half if high else 0, to.lanes, 2 * half)
        runs = [
            range(at, at + group) for start in starts for at in range(start, start + half, group)
        ]
        return _shuffled(to, x, y, (k + of for run in runs for of in (0, to.lanes) for k in run))

    return write


def _shuffled(to: Expressions, x: Value, y: Value, pattern: Iterable[int]) -> Value:
    numbers = ", ".join(f"i32 {k}" for k in pattern)
    of = x.type.llvm
    words = f"shufflevector {of} {x.name}, {of} {y.name}, <{to.lanes} x i32> <{numbers}>"
    return to.made(x.type, words)


def _lifted(to: Expressions, given: list[Value]) -> Value:
    from rooftile.devices.cpu.native.instructions import KernelError

    x, y, by = given
    if by.literal is None or not 0 <= by.literal <= to.lanes:
        raise KernelError(f"a vector is lifted by a literal of up to {to.lanes} lanes")
    return _shuffled(to, y, x, range(to.lanes - by.literal, 2 * to.lanes - by.literal))


def _backwards(to: Expressions, given: list[Value]) -> Value:
    return _shuffled(to, given[0], given[0], range(to.lanes - 1, -1, -1))


def _splat_last(to: Expressions, given: list[Value]) -> Value:
    return _shuffled(to, given[0], given[0], [to.lanes - 1] * to.lanes)


def _splat_lane(to: Expressions, given: list[Value]) -> Value:
    from rooftile.devices.cpu.native.instructions import KernelError

    x, lane = given
    if lane.literal is None or not 0 <= lane.literal < to.lanes:
        raise KernelError(f"a lane is a literal below {to.lanes}")
    return _shuffled(to, x, x, [lane.literal] * to.lanes)


SHUFFLES = {
    name: Function(name, write)
    for name, write in {
        "even": _every_second(0), "odd": _every_second(1),
        "woven_low": _woven(False), "woven_high": _woven(True),
        "lifted": _lifted, "backwards": _backwards,
        "splat_last": _splat_last, "splat_lane": _splat_lane,
    }.items()
}  # fmt: skip
"""The functions by name."""
