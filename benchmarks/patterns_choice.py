"""The chooser of sparse formats on a GPU: what it predicts, and what is measured."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import torch
from patterns_cases import Case
from patterns_check import Check
from patterns_matrices import CHOSEN_FROM, SIZES, Prepared, Workshop, families
from patterns_rows import Record, Watch

import rooftile
from rooftile.analysis.spmv import rule_of_thumb

_CASE = Case("spmv", "banded-csr")


def ask(workshop: Workshop, small: bool) -> None:
    """Begin to make the matrices."""
    for name, problem in families(*SIZES["trial" if small else "gpu"]).items():
        workshop.ask(name, problem, CHOSEN_FROM)


def measured(bench: Any, watch: Watch) -> Iterator[list[Record]]:
    """A record for each matrix, after each all of them so far."""
    found: list[Record] = []
    for name, problem in families(*SIZES["gpu" if bench.device else "trial"]).items():
        if watch.left_s < 0:
            return
        prepared = bench.workshop.get(name)
        one = of_matrix(bench, name, problem, prepared)
        found.append(one)
        bench.workshop.drop(name)
        print(line(one), flush=True)
        yield found


def of_matrix(bench: Any, name: str, problem: Any, prepared: Prepared) -> Record:
    """Predicted and measured microseconds of a product in each format."""
    csr = prepared.matrix("csr")
    begin = time.perf_counter()
    found = csr.estimates(device="cuda")
    decided = time.perf_counter() - begin
    predicted = {one.form: 1e3 * one.ms for one in found}
    works, reasons = {}, {}
    with torch.inference_mode():
        held = [torch.from_numpy(array).to(bench.place) for array in csr.arrays.values()]
        generator = torch.Generator(bench.place).manual_seed(0)
        x = torch.randn(problem.columns, generator=generator, device=bench.place)
        check = Check(problem, [*held, x], "ieee")
        y = torch.empty(problem.rows, device=bench.place)
        for form in prepared.files:
            call = partial(rooftile.spmv, prepared.matrix(form), x, out=y)
            try:
                works[form] = bench.admitted(call, True, "strategy", _CASE, problem, check)
            except Exception as error:
                reasons[form] = f"{type(error).__name__}: {error}"[:200]
        times = bench.times(works)
    took = {form: 1e3 * times[form].warm.median for form in works}
    chosen = next(form for form in predicted if form in took)
    return {
        **compared(chosen, predicted, took, prepared.structure),
        "matrix": name,
        "rows": problem.rows,
        "entries": prepared.entries,
        "cold_us": {form: 1e3 * times[form].cold.median for form in works},
        "reasons": reasons,
        "decided_us": 1e6 * decided,
    }


def compared(
    chosen: str, predicted: Mapping[Any, float], took: Mapping[Any, float], structure: Any
) -> Record:
    """What was chosen beside what is best; times are microseconds of a product by format."""
    best = min(took, key=lambda form: took[form])
    thumb, _ = rule_of_thumb(structure)
    return {
        "predicted_us": {form: us for form, us in predicted.items() if form in took},
        "measured_us": dict(took),
        "chosen": chosen,
        "best": best,
        "over_best": took[chosen] / took[best],
        "thumb": thumb,
        "structure": asdict(structure),
    }


def line(one: Record) -> str:
    """A matrix for a terminal."""
    pairs = (
        f"{form} {took:.1f} ({one['predicted_us'][form]:.1f})"
        for form, took in one["measured_us"].items()
    )
    told = "".join(f" [{form}: {reason}]" for form, reason in one["reasons"].items())
    over = f"{one['chosen']}, {one['over_best']:.2f} of {one['best']}"
    return f"{one['matrix']}: {over}; us: {', '.join(pairs)}{told}"
