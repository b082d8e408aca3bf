"""The launch of an operation that is one kernel, for callers that put it between others."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from rooftile.devices.launches import Call
from rooftile.ops import Problem
from rooftile.runtime.selection.choice import decide
from rooftile.strategies.contract.gpu import GpuStrategy, of_launches
from rooftile.strategies.contract.machine import Multiprocessors


def single(gpu: Any, problem: Problem, *given: Any) -> Call:
    """The launch of the chosen strategy, which has one, on buffers or names of the problem's
    arrays, in their order.

    Problems that differ in their sizes alone share a compiled text, where the text does not name
    them.  Raises `CompileFailure`.
    """
    choice = decide(problem, device=gpu.description.device)
    rung = of_launches(choice.strategy).on(Multiprocessors.of(gpu.description))
    config = rung.config(problem, choice.config)
    (step,) = rung.steps(problem, config)
    program = _program(gpu, of_launches(choice.strategy), (*rung.defines(problem, config).items(),))
    own = {array.name: one for array, one in zip(problem.arrays, given, strict=True)}

    def typed(argument: Any) -> Any:
        if isinstance(argument, str):
            return own[argument]
        return np.int32(argument) if type(argument) is int else argument

    return Call(program, step.launch, tuple(map(typed, step.arguments)))


@lru_cache(maxsize=64)
def _program(gpu: Any, rung: GpuStrategy, macros: tuple[tuple[str, int | str], ...]) -> Any:
    """A strategy's text, compiled on a device."""
    return gpu.compile(rung.text, dict(macros), rung.folders)
