"""Are results right that lie on a GPU?  All of them are held against PyTorch's in double precision.

Who computes it there is another implementation, told by the operation's ``peers`` or by
`patterns_expected`; how far a result may be from it is what the problem says
(`rooftile.ops.judgement`), as in every exam.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from rooftile.lab.judge.arithmetic import errors_of, excuse
from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verdict import Verdict
from rooftile.lab.measure.peers.torch_module import torch_module
from rooftile.ops import ERROR_MODELS, Array, ErrorModel, Precision, Problem
from rooftile.ops.judgement import Budget, Exact, Properties, Unordered

Tensor = Any
Outputs = tuple[Tensor, ...]


class Check:
    """What is expected of a problem's outputs, from its arrays where they lie."""

    def __init__(self, problem: Problem, arrays: Sequence[Tensor], precision: Precision) -> None:
        self._problem, self._arrays, self._precision = problem, tuple(arrays), precision
        self._place = arrays[0].device
        self._kept: dict[str, tuple[Outputs, Outputs]] = {}

    def why_wrong(self, made: Any, peer: bool) -> str | None:
        """Why a result, a tensor or a tuple of them, is wrong; None where it is right.

        A peer may round more often, and give fewer outputs; the first one is that of the problem.
        """
        outs = made if isinstance(made, tuple) else (made,)
        for at, (output, one) in enumerate(zip(self._problem.output_arrays, outs, strict=False)):
            if reason := self._why(at, output, one, peer):
                return reason
        return None

    def _why(self, at: int, output: Array, made: Tensor, peer: bool) -> str | None:
        narrow = made.element_size() == 2
        model = errors_of(self._precision) if narrow else ERROR_MODELS[self._precision]
        verdict = self._judge(at, output, made, model)
        # Who asks for less may be given float32's accuracy.
        if verdict.passed:
            return None
        if not narrow and self._judge(at, output, made, ERROR_MODELS["ieee"]).passed:
            return None
        if peer and excuse(verdict, self._precision) is not None:
            return None
        worst = verdict.budget_fraction
        return f"wrong: {verdict.reason}, the worst {worst:.3g} times its budget"

    def _judge(self, at: int, output: Array, made: Tensor, model: ErrorModel) -> Verdict:
        judgement = self._problem.judgement(output, model)
        known = self._problem.operation in _expected().EXACT and isinstance(judgement, Properties)
        if isinstance(judgement, Unordered):
            made = made.sort(dim=judgement.axis).values
        if known or isinstance(judgement, Exact | Unordered):
            return self._exactly(at, made, sort=isinstance(judgement, Unordered))
        if not isinstance(judgement, Budget):
            return self._on_the_host(made, model)
        references, magnitudes = self._expected(model.operands)
        reference, magnitude = references[at], magnitudes[at]
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

    def _exactly(self, at: int, made: Tensor, sort: bool) -> Verdict:
        """Equal, as far as the reference goes: what lies behind it is not meant."""
        expected = self._exact[at]
        made, expected = made.reshape(-1)[: expected.numel()], expected.reshape(-1)
        if sort:
            made, expected = made.sort().values, expected.sort().values
        if made.shape != expected.shape:
            return Verdict(False, f"{len(made)} elements for {len(expected)}", budget_fraction=0.0)
        # Elements of 16 bits are compared as such, so that a NaN equals itself.
        if made.element_size() == 2:
            made, expected = made.view(_torch().int16), expected.view(_torch().int16)
        equal = _torch().equal(made, expected.to(made.dtype))
        return Verdict(equal, "" if equal else "other than the reference", budget_fraction=0.0)

    def _on_the_host(self, made: Tensor, model: ErrorModel) -> Verdict:
        expected = Expected(self._problem, *(array.cpu().numpy() for array in self._arrays))
        return expected.judge(made.cpu().numpy(), model)

    @cached_property
    def _exact(self) -> Outputs:
        if known := _expected().EXACT.get(self._problem.operation):
            made: Outputs = known(self._problem, *self._arrays)
            return made
        return (self._by_module(self._arrays),)

    def _expected(self, operands: str) -> tuple[Outputs, Outputs]:
        """References and magnitudes in double precision, of rounded operands where they are."""
        if operands not in self._kept:
            self._kept = {operands: self._computed(operands)}
        return self._kept[operands]

    def _computed(self, operands: str) -> tuple[Outputs, Outputs]:
        if found := _expected().SUMMED.get(self._problem.operation):
            reference, magnitude = (made(self._problem, *self._arrays) for made in found)
            return reference, magnitude
        wide = [_double(array, operands) for array in self._arrays]
        (output,) = self._problem.output_arrays
        made = [self._by_module(arrays) for arrays in (wide, [abs(array) for array in wide])]
        reference, magnitude = (one.double().reshape(output.shape) for one in made)
        return (reference,), (magnitude,)

    def _by_module(self, arrays: Sequence[Tensor]) -> Tensor:
        count = len(self._problem.input_arrays)
        host = [parameter.cpu().numpy() for parameter in arrays[count:]]
        return torch_module(self._problem, host).to(self._place)(*arrays[:count])


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


def _expected() -> Any:
    """What PyTorch computes, which is not there where these scripts are only looked at."""
    import patterns_expected

    return patterns_expected


def _torch() -> Any:
    import torch

    return torch
