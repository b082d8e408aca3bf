"""The launch of an operation that is one kernel, for callers that put it between others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rooftile.devices.gpu import GpuDevice
from rooftile.devices.launches import Call
from rooftile.ops import Problem
from rooftile.runtime.selection.choice import decide
from rooftile.strategies.contract.gpu import of_launches


def single(gpu: GpuDevice, problem: Problem, *given: Any) -> Call:
    """The launch of the chosen strategy, which has one, on buffers or names of buffers: those of
    the problem's arrays, in their order.  Raises `CompileFailure`."""
    choice = decide(problem, device=gpu.description.device)
    (call,) = of_launches(choice.strategy).compile(problem, gpu, choice.config).steps(None)
    own = {array.name: one for array, one in zip(problem.arrays, given, strict=True)}
    arguments = (own.get(one, one) if isinstance(one, str) else one for one in call.arguments)
    return replace(call, arguments=tuple(arguments))
