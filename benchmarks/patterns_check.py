"""Are results right that lie on a GPU?  All of them are held against PyTorch's in double precision.

Who computes it there is another implementation, told by the operation's ``peers``; how far a result
may be from it is what the problem says (`rooftile.ops.judgement`), as in every exam.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from rooftile.lab.judge.expected import Expected
from rooftile.lab.peers.arithmetic import errors_of, excuse
from rooftile.lab.peers.torch_module import torch_module
from rooftile.lab.verdict import Verdict
from rooftile.ops import ERROR_MODELS, ErrorModel, Precision, Problem
from rooftile.ops.judgement import Budget, Exact

Tensor = Any


class Check:
    """What is expected of a problem's one output, from its arrays on the GPU."""

    def __init__(self, problem: Problem, arrays: Sequence[Tensor], precision: Precision) -> None:
        self._problem, self._arrays, self._precision = problem, tuple(arrays), precision
        self._place = arrays[0].device
        (self._output,) = problem.output_arrays
        self._kept: dict[str, tuple[Tensor, Tensor]] = {}

    def why_wrong(self, made: Tensor, peer: bool) -> str | None:
        """Why a result is wrong; None where it is right.  A peer may round more often."""
        narrow = made.element_size() == 2
        model = errors_of(self._precision) if narrow else ERROR_MODELS[self._precision]
        verdict = self._judge(made, model)
        # Who asks for less may be given float32's accuracy.
        if verdict.passed or (not narrow and self._judge(made, ERROR_MODELS["ieee"]).passed):
            return None
        if peer and excuse(verdict, self._precision) is not None:
            return None
        worst = verdict.budget_fraction
        return f"wrong: {verdict.reason}, the worst {worst:.3g} times its budget"

    def _judge(self, made: Tensor, model: ErrorModel) -> Verdict:
        judgement = self._problem.judgement(self._output, model)
        if isinstance(judgement, Exact):
            return self._exactly(made)
        if not isinstance(judgement, Budget):
            return self._on_the_host(made, model)
        reference, magnitude = self._expected(model.operands)
        made = made.double().reshape(reference.shape)
        unit, smallest = model.rounding
        budget = (
            model.factor * model.unit * math.sqrt(judgement.terms) * magnitude
            + judgement.roundings * model.unit * reference.abs()
            + unit * reference.abs().clamp(min=smallest)
            + np.finfo(np.float32).tiny
        )
        error = (made - reference).abs()
        worst = float((error / budget).max())
        relative = float(error.max() / reference.abs().max())
        # A NaN is neither within the budget nor beyond it.
        passed = worst <= 1
        reason = "" if passed else "outside the budget"
        return Verdict(passed, reason, max_rel=relative, budget_fraction=worst)

    def _exactly(self, made: Tensor) -> Verdict:
        torch, expected = _torch(), self._exact.reshape(made.shape)
        # Elements of 16 bits are compared as such, so that a NaN equals itself.
        if made.element_size() == 2:
            made, expected = made.view(torch.int16), expected.view(torch.int16)
        equal = torch.equal(made, expected.to(made.dtype))
        return Verdict(equal, "" if equal else "other than the reference", budget_fraction=0.0)

    def _on_the_host(self, made: Tensor, model: ErrorModel) -> Verdict:
        expected = Expected(self._problem, *(array.cpu().numpy() for array in self._arrays))
        return expected.judge(made.cpu().numpy(), model)

    @cached_property
    def _exact(self) -> Tensor:
        inputs, parameters = self._split(self._arrays)
        host = [parameter.cpu().numpy() for parameter in parameters]
        return torch_module(self._problem, host).to(self._place)(*inputs)

    def _expected(self, operands: str) -> tuple[Tensor, Tensor]:
        """Reference and magnitude in double precision, of rounded operands where they are."""
        if operands not in self._kept:
            wide = [_double(array, operands) for array in self._arrays]
            self._kept = {operands: (self._computed(wide), self._computed(map(abs, wide)))}
        return self._kept[operands]

    def _computed(self, arrays: Any) -> Tensor:
        inputs, parameters = self._split(tuple(arrays))
        host = [parameter.cpu().numpy() for parameter in parameters]
        made = torch_module(self._problem, host).to(self._place)(*inputs)
        return made.double().reshape(self._output.shape)

    def _split(self, arrays: Sequence[Tensor]) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        count = len(self._problem.input_arrays)
        return arrays[:count], arrays[count:]


def _double(array: Tensor, operands: str) -> Tensor:
    """An array in double precision, its elements rounded to a precision's operands."""
    if not array.is_floating_point():
        return array
    if operands == "tf32" and array.element_size() == 4:
        # To nearest, ties to even, as `rooftile.ops.rounded`; PyTorch has no such type.
        bits = array.view(_torch().int32)
        bits = (bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFF
        return bits.view(array.dtype).double()
    if operands == "fp16":
        return array.half().double()
    if operands == "bf16":
        return array.bfloat16().double()
    return array.double()


def _torch() -> Any:
    import torch

    return torch
