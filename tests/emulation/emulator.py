"""Strategies' texts on the host, on small problems, under a sanitizer."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.gpu import macro_lines, prelude
from rooftile.lab.emulation import Finding, missing, run, translated
from rooftile.lab.emulation.program import unwritten
from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verdict import Verdict
from rooftile.ops import ERROR_MODELS, narrowed, widened
from rooftile.strategies.contract.gpu import GpuStrategy
from tests.support.winner_positions import positions, with_cuts


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
    held = {array.name: array.dtype for array in rung.held(problem, values)}
    for place in problem.input_arrays:
        if values.get("X_LAST"):
            arrays[place.name] = np.moveaxis(arrays[place.name], 1, -1)
        if held[place.name] == place.dtype:
            continue
        if place.name == "where":
            arrays[place.name] = positions(problem.layer, arrays[place.name])
        else:
            arrays[place.name] = narrowed(arrays[place.name], rung.narrow)
    narrow_out = {array.name for array in problem.output_arrays if values.get("OUT_NARROW")}
    known = {array.name for array in problem.arrays}
    more = [array for array in rung.held(problem, values) if array.name not in known]
    outputs = [*problem.output_arrays, *more]
    for output in outputs:
        kind = np.dtype(np.uint16) if output.name in narrow_out else output.numpy
        arrays[output.name] = unwritten(output.size * kind.itemsize).view(kind)
    for name, count in rung.workspace(problem, values).items():
        arrays[name] = unwritten(4 * count)
    text = macro_lines(rung.macros(problem, values)) + prelude() + rung.text
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
    found = [_as_it_lies(made[output.name], output, values) for output in outputs]
    pairs = zip(found, outputs, strict=True)
    found = [widened(a, rung.narrow) if o.name in narrow_out else a for a, o in pairs]
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
    right = given
    if (config or {}).get("WHERE_NARROW"):
        given, right = with_cuts(problem, given)
    count = len(problem.input_arrays)
    inputs, parameters = tuple(given[:count]), given[count:]
    out = emulate(rung, problem, inputs, parameters, config, folder, **options)
    # Sums of a weight are float32, whatever the config says.
    errors = rung.errors(config or {}) if parameters else ERROR_MODELS[rung.precision]
    return Expected(problem, *right).judge(out, errors)


def _as_it_lies(made: Any, output: Any, config: Any) -> Any:
    """An output with the problem's shape."""
    if config.get("OUT_LAST"):
        items, maps, *sizes = output.shape
        made = np.moveaxis(made.reshape(items, *sizes, maps), -1, 1)
    return made.reshape(output.shape)


__all__ = ["emulate", "judged", "missing", "translated"]
