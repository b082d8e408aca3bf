"""Every order in which the steps of two threads can be taken that add one to the same number.

    python benchmarks/interleavings.py

A thread is a generator that stops before each step that others may come between.  All schedules are
run, so that what is printed does not depend on chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

Thread = Callable[["Memory"], Iterator[str]]


@dataclass
class Memory:
    """A number that all threads see, and what each of them has found there."""

    number: int = 0
    locked: bool = False
    found: list[int] = field(default_factory=list)

    def compare_and_swap(self, expected: int, made: int) -> int:
        """Store if the expected number is still there; what was there, in one step."""
        before = self.number
        if before == expected:
            self.number = made
        return before


def plain(memory: Memory) -> Iterator[str]:
    """``number += 1``: read and write are two steps."""
    yield "read"
    held = memory.number
    memory.found.append(held)
    yield "write"
    memory.number = held + 1


def atomic(memory: Memory) -> Iterator[str]:
    """An atomic addition: one step."""
    yield "add"
    memory.found.append(memory.number)
    memory.number += 1


def swapping(memory: Memory) -> Iterator[str]:
    """A loop that compares and swaps: whoever finds something else begins again with it."""
    yield "read"
    seen = memory.number
    while True:
        expected = seen
        yield "swap"
        seen = memory.compare_and_swap(expected, expected + 1)
        if seen == expected:
            memory.found.append(seen)
            return


def critical(memory: Memory, taken: str) -> Iterator[str]:
    """Read and write behind a lock that has been taken, which is given back."""
    yield taken
    memory.locked = True
    yield from plain(memory)
    yield "unlock"
    memory.locked = False


def locking(memory: Memory) -> Iterator[str]:
    """A critical section: an exchange finds the lock open and closes it, in one step."""
    yield from critical(memory, "lock")


def looking(memory: Memory) -> Iterator[str]:
    """The same with a lock that is looked at first and closed then: two steps."""
    yield "look"
    yield from critical(memory, "close")


_WAITING = ("lock", "look")
"""Steps that are tried again as long as the lock is closed, and so are taken when it is open."""


@dataclass(frozen=True)
class Schedule:
    """Whose steps were taken in which order, and what came of it."""

    steps: tuple[tuple[int, str], ...]
    number: int
    found: tuple[int, ...]

    def __str__(self) -> str:
        return "  ".join(f"{thread + 1} {step}s" for thread, step in self.steps)


def run(threads: Sequence[Thread], order: Sequence[int]) -> tuple[Schedule, list[int]]:
    """What comes of so many steps in an order, and which threads have steps left."""
    memory = Memory()
    running = [thread(memory) for thread in threads]
    waiting: list[str | None] = [next(one) for one in running]
    steps = []
    for turn in order:
        step = waiting[turn]
        assert step is not None
        steps.append((turn, step))
        waiting[turn] = next(running[turn], None)
    going_on = [step is not None for step in waiting]
    if memory.locked:
        going_on = [on and step not in _WAITING for on, step in zip(going_on, waiting, strict=True)]
    left = [turn for turn, on in enumerate(going_on) if on]
    return Schedule(tuple(steps), memory.number, tuple(memory.found)), left


def schedules(threads: Sequence[Thread], order: tuple[int, ...] = ()) -> Iterator[Schedule]:
    """All that come to an end, from those steps on."""
    schedule, left = run(threads, order)
    if not left:
        yield schedule
    for turn in left:
        yield from schedules(threads, (*order, turn))


def drawn() -> tuple[Schedule, ...]:
    """The four that a lecture draws: one thread after the other, and both read before either
    writes, which they do in the order in which they have read."""
    orders = (0, 0, 1, 1), (1, 1, 0, 0), (0, 1, 0, 1), (1, 0, 1, 0)
    return tuple(run((plain, plain), order)[0] for order in orders)


def main() -> None:
    print("The four that a lecture draws, two threads that add one to 0:")
    for schedule in drawn():
        print(f"  {schedule}: {schedule.number}")
    for thread in (plain, atomic, swapping, locking, looking):
        print(f"All of two threads, {thread.__name__}:")
        for schedule in schedules((thread, thread)):
            print(f"  {schedule}: {schedule.number}")


if __name__ == "__main__":
    main()
