"""Strategies' texts on the host, on small problems, under a sanitizer."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.gpu import macro_lines, prelude
from rooftile.lab.emulation import Finding, missing, run, translated
from rooftile.lab.emulation.program import unwritten
from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verdict import Verdict
from rooftile.ops import narrowed, widened
from rooftile.strategies.contract.gpu import GpuStrategy
from tests.support.storage import stored_by
from tests.support.winner_positions import positions, with_cuts

_PRECISIONS = {"float16": "fp16", "bfloat16": "bf16"}


def emulate(
    rung: GpuStrategy,
    problem: Any,
    x: Any,
    parameters: Any,
    config: Any,
    folder: Path,
    sanitizer: Any = "address",
    finite: bool = False,
) -> Any:
    """The result of a strategy's kernels, or a tuple of several.

    Raises `AssertionError` with what the sanitizer said.

    ``x`` is the problem's input, or a tuple of them.  Where all numbers are ``finite``, the program
    ends at a computation on shared memory, workspace or results that nobody wrote.
    """
    problem, config = stored_by(rung, problem, config)
    values = rung.config(problem, config)
    assert rung.why_not(problem) is None
    assert rung.invalid(problem, values) is None
    named = dict(zip((p.name for p in problem.parameter_arrays), parameters, strict=True))
    inputs = x if isinstance(x, tuple) else (x,)
    arrays = {
        **dict(zip((a.name for a in problem.input_arrays), inputs, strict=True)),
        **rung.packed(problem, named, values),
        **rung.tables(problem, values),
    }
    for place in problem.input_arrays:
        arrays[place.name] = _in_memory(problem, place, arrays[place.name])
    for output in problem.output_arrays:
        kind = np.dtype(np.uint16) if _is_narrow(problem, output) else output.numpy
        arrays[output.name] = unwritten(output.size * kind.itemsize).view(kind)
    for name, count in rung.workspace(problem, values).items():
        arrays[name] = unwritten(4 * count)
    text = macro_lines(rung.defines(problem, values)) + prelude() + rung.text
    steps = (*rung.preparation(problem, values), *rung.steps(problem, values))
    started = [(step.launch, step.arguments) for step in steps]
    fills = {name: fill.array for name, fill in rung.constants(problem, values).items()}
    try:
        made = run(
            text, rung.folders, started, arrays, folder,
            sanitizer=sanitizer, fills=fills, watched=finite,
        )  # fmt: skip
    except Finding as finding:
        raise AssertionError(str(finding)) from None
    found = [_out_of_memory(problem, output, made[output.name]) for output in problem.output_arrays]
    return found[0] if len(found) == 1 else tuple(found)


def judged(
    rung: GpuStrategy,
    problem: Any,
    given: Any,
    folder: Path,
    config: Any = None,
    wrong: tuple[str, str] | None = None,
    **options: Any,
) -> Verdict:
    """The verdict on a gradient rung, or on one with a ``wrong`` text: a part, and what stands for
    it.  Where 8 bits say who won, relu cut some windows."""
    if wrong is not None:
        changed: Any = copy(rung)
        assert wrong[0] in rung.whole_text
        changed.__dict__["text"] = rung.whole_text.replace(*wrong)
        rung = changed
    stored, _ = stored_by(rung, problem, config)
    right = given
    if any(array.places and array.dtype == "uint8" for array in stored.input_arrays):
        given, right = with_cuts(problem, given)
    count = len(problem.input_arrays)
    inputs, parameters = tuple(given[:count]), given[count:]
    out = emulate(rung, problem, inputs, parameters, config, folder, **options)
    errors = rung.errors
    if any(_is_narrow(stored, array) for array in stored.output_arrays):
        errors = replace(errors, results=rung.narrow)
    return Expected(problem, *right).judge(out, errors)


def _is_narrow(problem: Any, array: Any) -> bool:
    """Whether an array of float32 is stored in float16 or bfloat16."""
    return array.dtype in _PRECISIONS and problem.plain.array(array.name).dtype == "float32"


def _in_memory(problem: Any, array: Any, values: Any) -> Any:
    """An input's values as the array is stored, numbers of 16 bits by their bits."""
    if array.channels_last:
        values = np.moveaxis(values, 1, -1)
    if array.places and array.dtype == "uint8" and values.dtype != np.uint8:
        return positions(problem.layer, values)
    return narrowed(values, _PRECISIONS[array.dtype]) if _is_narrow(problem, array) else values


def _out_of_memory(problem: Any, output: Any, made: Any) -> Any:
    """An output's values, with the problem's shape."""
    if _is_narrow(problem, output):
        made = widened(made, _PRECISIONS[output.dtype])
    if output.channels_last:
        items, maps, *sizes = output.shape
        made = np.moveaxis(made.reshape(items, *sizes, maps), -1, 1)
    return made.reshape(output.shape)


__all__ = ["emulate", "judged", "missing", "translated"]
