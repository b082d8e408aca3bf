"""A second opinion on a whole result: what our own fastest rung makes of the same inputs.

It is had after the answer, in the judge's process, so a kernel cannot foresee or reach it.  It
costs about as much as the kernel's own call, where the reference in float64 costs a hundred times
as much; so every timed result can be compared as a whole.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.select import open_device
from rooftile.errors import RooftileError
from rooftile.lab.audit.checks.contents import some_items
from rooftile.lab.audit.process.session import Arrays
from rooftile.lab.judge.compare import budget_of
from rooftile.lab.judge.expected import Expected, as_operands
from rooftile.lab.judge.verify import computing
from rooftile.ops import AnyArray, ErrorModel, Problem
from rooftile.ops.judgement import Budget
from rooftile.ops.problem import outputs_of
from rooftile.runtime.selection.choice import decide

_ITEMS = 2
"""Number of items that tell the size of budgets."""


class Second:
    """Our own rung for a problem with a batch, or one whose outputs have no budgets."""

    def __init__(self, problem: Problem, device: str, model: ErrorModel) -> None:
        """Raises `RooftileError` where there is none."""
        self._problem, self._model = problem, model
        self._device = open_device(device)
        choice = decide(problem, "ieee", device)
        self._rung, self._config = choice.strategy, choice.config

    @classmethod
    def of(cls, problem: Problem, device: str, model: ErrorModel) -> Second | None:
        """The rung for a problem on a device; None where there is none, or where nothing less than
        the reference says how far a result may be off."""
        judgements = [problem.judgement(output, model) for output in problem.output_arrays]
        if problem.batch_size is None and any(isinstance(one, Budget) for one in judgements):
            return None
        try:
            return cls(problem, device, model)
        except RooftileError:
            return None

    def agrees(self, outs: Arrays, arrays: Arrays, generator: np.random.Generator) -> bool:
        """True if every element is our rung's within the bound.

        *The bound.* Outputs that are judged exactly must have the same bits. A number may be off by
        ``b``, the largest budget of an element of some items, which are drawn and compared with the
        reference as well. Our own is off by its budget at most, so a wrong element passes only
        where its error is below ``b`` and its budget together, that is where it is right to about
        the last digit but one. A result that does not agree need not be wrong: other items may have
        larger budgets, or an order of their own. The reference decides then.
        """
        problem, model = self._problem, self._model
        limits: tuple[float | None, ...] = (None,) * len(outs)
        if problem.batch_size is not None:
            some = some_items(problem, outs, arrays, _ITEMS, generator)
            if not Expected(problem, *some[1]).judge(some[0], model).passed:
                return False
            limits = self._limits(some[1])
        return all(
            _same(made, ours) if limit is None else _close(made, ours, limit)
            for made, ours, limit in zip(outs, self._results(arrays), limits, strict=True)
        )

    def _results(self, arrays: Arrays) -> Arrays:
        problem = self._problem
        given = as_operands(problem, arrays, self._model.operands)
        count = len(problem.input_arrays)
        outs = tuple(np.zeros(one.shape, one.numpy) for one in problem.output_arrays)
        with self._device.on():
            bound = self._rung.bind(problem, given[count:], self._device, self._config)
            computing(bound)(*given[:count], *outs)
        return outs

    def _limits(self, arrays: Arrays) -> tuple[float | None, ...]:
        """The largest distance of an element of each output; None for outputs that are judged
        otherwise than by a budget."""
        model = self._model
        given = as_operands(self._problem, arrays, model.operands)
        items = self._problem.items_in(given)
        assert items is not None, "there is a batch"
        some = self._problem.with_batch(items)
        judgements = [some.judgement(output, model) for output in some.output_arrays]
        if not any(isinstance(one, Budget) for one in judgements):
            return (None,) * len(judgements)
        references = outputs_of(some.reference(*given))
        magnitudes = outputs_of(some.magnitude(*given))
        return tuple(
            float(budget_of(output, judgement, reference, magnitude, model).max(initial=0.0))
            if isinstance(judgement, Budget)
            else None
            for output, judgement, reference, magnitude in zip(
                some.output_arrays, judgements, references, magnitudes, strict=True
            )
        )


def _same(made: AnyArray, ours: AnyArray) -> bool:
    return np.array_equal(made, ours, equal_nan=made.dtype.kind in "fV")


def _close(made: AnyArray, ours: AnyArray, limit: float) -> bool:
    """True if no element is further away; an infinity or a NaN is near the same alone."""
    wide = np.float64 if made.dtype == np.float64 else np.float32
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(made.astype(wide) - ours.astype(wide)) <= limit
    return bool(near.all()) or bool(
        (near | (made == ours) | (np.isnan(made) & np.isnan(ours))).all()
    )
