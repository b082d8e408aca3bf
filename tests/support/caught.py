"""Wrong texts are caught on any device, also where its hardware hides what they forget."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verify import verify
from rooftile.ops import Problem
from rooftile.strategies.contract.gpu import GpuStrategy
from tests.emulation.emulator import emulate, missing


def check_caught(
    wrong: GpuStrategy,
    problem: Problem,
    device: Any,
    folder: Path,
    *,
    small: Problem | None = None,
    config: Mapping[str, int] | None = None,
    neighbours: bool = True,
) -> None:
    """A text is judged to be wrong.

    A processor runs a thread from barrier to barrier before the next one, so that a result is wrong
    where a barrier is missing.  The warps of a GPU may happen to keep the order that a text
    forgets, and its shared memory may happen to hold zeros.  There the emulator is asked, with a
    ``small`` problem where there is one.
    """
    found = verify(problem, wrong, device=device, config=config, neighbours=neighbours)
    if not found.passed:
        return
    assert device.description.gpu, "nothing hides what is wrong on a processor"
    if reason := missing():
        pytest.skip(f"a GPU may hide what is wrong, and there is no emulator: {reason}")
    assert emulator_finds(wrong, small or problem, config, folder)


def emulator_finds(
    wrong: GpuStrategy, problem: Problem, config: Mapping[str, int] | None, folder: Path
) -> str:
    """What the emulator says against a text: a race, numbers that nobody wrote, or a wrong result;
    empty where it finds nothing."""
    count = len(problem.input_arrays)
    arrays = problem.random(1)
    for number, asked in enumerate(({"sanitizer": "thread"}, {"finite": True})):
        place = folder / str(number)
        place.mkdir()
        try:
            out = emulate(wrong, problem, arrays[:count], arrays[count:], config, place, **asked)
        except AssertionError as error:
            return str(error)
        verdict = Expected(problem, *arrays).judge(out, wrong.errors)
        if not verdict.passed:
            return verdict.reason
    return ""
