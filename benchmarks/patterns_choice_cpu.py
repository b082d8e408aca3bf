"""The chooser of sparse formats on the CPU: what it predicts, and what is measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from patterns_choice import compared, line
from patterns_matrices import SIZES, families
from patterns_rows import Record, Watch

import rooftile
from rooftile.analysis.spmv import fastest, stored_bytes
from rooftile.analysis.spmv_machines import PROCESSOR
from rooftile.devices import cpu
from rooftile.errors import InputError
from rooftile.lab.judge.expected import Expected
from rooftile.ops.sparse.rows import FORMS
from rooftile.ops.sparse.spmv import Spmv
from rooftile.runtime.timing.host import interleaved

_PADDED = 3
"""A format that stores so many times the least bytes is not timed."""
_SECONDS = 0.25
"""Seconds of samples of each format."""


def measured(watch: Watch) -> Iterator[list[Record]]:
    """A record for each matrix, after each all of them so far."""
    found: list[Record] = []
    for name, problem in families(*SIZES["cpu"]).items():
        if watch.left_s < 0:
            return
        found.append(_of_matrix(name, problem))
        print(line(found[-1]), flush=True)
        yield found


def _of_matrix(name: str, problem: Spmv) -> Record:
    *arrays, x = problem.random(0)
    expected = Expected(problem, *arrays, x)
    given: tuple[object, ...] = tuple(arrays)
    csr = rooftile.sparse(given, shape=(problem.rows, problem.columns))
    structure = csr.structure
    begin = time.perf_counter()
    chosen = fastest(structure, PROCESSOR)
    decided = time.perf_counter() - begin
    stored = {form: stored_bytes(structure, form) for form in FORMS}
    least = min(stored.values())
    calls: dict[str, Callable[[], object]] = {}
    reasons, y = {}, cpu.aligned((problem.rows,), np.dtype(np.float32), "y")
    for form in FORMS:
        if stored[form] > _PADDED * least:
            continue
        try:
            call = partial(rooftile.spmv, csr.to(form), x, out=y)
        except InputError as error:
            reasons[form] = str(error)[:200]
            continue
        y.fill(np.nan)
        call()
        verdict = expected.judge((y,), "ieee")
        if verdict.passed:
            calls[form] = call
        else:
            reasons[form] = verdict.reason
    timings = interleaved(calls, seconds=_SECONDS)
    took = {form: 1e3 * timings[form].median for form in calls}
    predicted = {one.form: 1e3 * one.ms for one in csr.estimates()}
    return {
        **compared(chosen, predicted, took, structure),
        "matrix": name,
        "rows": problem.rows,
        "entries": csr.nnz,
        "reasons": reasons,
        "decided_us": 1e6 * decided,
    }
