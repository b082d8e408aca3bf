"""Measure rooftile against its peers on this machine's CPU and write the table of the docs.

    python benchmarks/cpu.py [--only NAME ...] [--write]

Everything of one row runs in one process, verified first, then timed in turns, with a
pause before each so that nobody is slowed by another library's spinning threads (see
`rooftile.runtime.timing.host`).  Peers keep the memory that they free, which helps them (see
`rooftile.lab.measure.peers.cpu.keeping_memory`).  Weights are packed before the timing on all
sides, except by eager torch, which never packs.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pages import markdown_table

import rooftile
from rooftile.devices import cpu
from rooftile.lab.judge.exam import Compute, Exam
from rooftile.lab.measure.ceilings.cpu import Rates, ceilings
from rooftile.lab.measure.environment import environment, versions
from rooftile.lab.measure.peers.cpu import PEERS, keeping_memory
from rooftile.nn import architecture
from rooftile.ops import Chain, Layer, Precision, Softmax, named
from rooftile.runtime.timing.host import Timing, interleaved
from rooftile.strategies import strategy

RESULTS = Path(__file__).parent / "results" / "cpu.json"
PAGE = Path(__file__).parent.parent / "docs" / "reference" / "benchmarks.md"
PACKAGES = ("torch", "onnxruntime", "openvino")
PRECISIONS: tuple[Precision, ...] = ("ieee", "fast")


@dataclasses.dataclass(frozen=True)
class Case:
    """A problem, or a network, with what it is to reach against the best peer."""

    name: str
    batch: int
    ieee: float
    """Times as fast as the best peer, at ieee precision."""
    fast: float | None = None
    network: bool = False
    classes: int | None = None
    """Of ``softmax``, whose calls are the public function's."""

    @property
    def label(self) -> str:
        if self.classes is not None:
            return f"{self.name} {self.batch}x{self.classes}"
        return f"{self.name} B={self.batch}"


CASES = (
    Case("lenet-conv1", 1000, 5.0),
    Case("lenet-conv2", 1000, 1.35, 2.5),
    Case("lab-conv5", 1, 0.95, 4.5),
    Case("lenet5", 1000, 2.4, 4.5, network=True),
    Case("mnist8", 256, 1.1, network=True),
    Case("mnist8", 1, 1.0, network=True),
    *(
        Case("softmax", batch, 1.0, classes=classes)
        for batch, classes in [
            (1, 10),
            (1, 1000),
            (16, 100),
            (4096, 16),
            (256, 1000),
            (64, 4096),
            (1024, 1024),
            (4096, 4096),
        ]
    ),
)

Record = dict[str, Any]


def problem_of(case: Case) -> Layer:
    if case.classes is not None:
        return Softmax(batch=case.batch, classes=case.classes)
    if not case.network:
        problem = named("conv2d", case.name, case.batch)
        assert isinstance(problem, Layer)
        return problem
    return Chain(architecture(case.name).problems(case.batch))


def ours(case: Case, exam: Exam, precision: Precision) -> Compute:
    """A strategy of ours, or a network's plan, bound to the exam's parameters."""
    if case.classes is not None:
        return lambda x, out: rooftile.softmax(x, out=out)
    if not case.network:
        name = "winograd" if precision == "fast" else "register_tile"
        bound = strategy("conv2d", name).bind(exam.problem, exam.parameters, cpu.open_device())
        return lambda x, out: bound.launch((x, out))
    shape = architecture(case.name)
    keys = shape.parameter_shapes
    network = shape.with_parameters(dict(zip(keys, exam.parameters, strict=True)))
    plan = network.plan(batch=case.batch, precision=precision)
    return lambda x, out: plan(x, out=out)


def judge(case: Case, rates: Rates) -> Record:
    """Verify everybody, then time all that passed in turns."""
    problem = problem_of(case)
    exam = Exam(problem, seed=0)
    calls: dict[str, Callable[[], object]] = {}
    entries: list[Record] = []

    def admit(name: str, precision: str, compute: Compute, call: Callable[[], object]) -> None:
        verdict = exam.examine(compute, precision)
        entry = {"name": name, "precision": precision, "max_abs_error": verdict.max_abs}
        entries.append({**entry, "status": "passed" if verdict.passed else verdict.reason})
        if verdict.passed:
            call()
            calls[name] = call

    for precision in PRECISIONS:
        if precision == "fast" and case.fast is None:
            continue
        compute = ours(case, exam, precision)
        out = np.empty(problem.output_shape, np.float32)
        admit(f"rooftile {precision}", precision, compute, partial(compute, exam.x, out))
    for peer in PEERS:
        reason = peer.why_not(problem)
        if reason is not None:
            entries.append({"name": peer.name, "precision": "ieee", "status": reason})
            continue
        print(f"  {peer.name}", file=sys.stderr)
        bound = peer.bind(problem, exam.parameters)
        # After the exam, what it loaded last are its first inputs.
        admit(peer.name, "ieee", bound, bound.compute)
    timings = interleaved(calls, seconds=8.0 if case.classes is None else 3.0)
    for entry in entries:
        if entry["name"] in timings:
            entry["time_ms"] = dataclasses.asdict(timings[entry["name"]])
    return {
        "case": dataclasses.asdict(case),
        "flops": problem.flops,
        "floor_ms": rates.floor_ms(problem),
        "entries": entries,
        **ratios(timings, problem, rates),
    }


def ratios(timings: dict[str, Timing], problem: Layer, rates: Rates) -> Record:
    """Ours against the best peer, and against the FMA units' peak."""
    peers = {name: t.median for name, t in timings.items() if not name.startswith("rooftile")}
    best = min(peers, key=peers.__getitem__) if peers else None
    found: Record = {"best_peer": best}
    for precision in PRECISIONS:
        timing = timings.get(f"rooftile {precision}")
        if timing is not None:
            share = problem.flops / timing.median * 1e-6 / rates.fma_gflops
            found[precision] = {
                "times_best_peer": peers[best] / timing.median if best else None,
                # An exponential's operations are no problem's FLOPs.
                "fma_fraction": None if isinstance(problem, Softmax) else share,
            }
    return found


def page(results: Record) -> str:
    """The documentation page, all of its numbers from the records."""
    env, rates = results["environment"], results["ceilings"]["all_cores"]
    lines = [
        "# Benchmarks: CPU",
        "",
        "Generated by `make bench` (`python benchmarks/cpu.py --write`); the records are in",
        "`benchmarks/results/cpu.json`. Nothing here is typed by hand.",
        "",
        f"{env['time']}, {env['cpu']}, {env['cores']} cores, Python {env['python']}, "
        f"llvmlite {env['llvmlite']}. Peers: {results['versions']}.",
        "",
        f"Measured ceilings on {rates['threads']} threads: {rates['fma_gflops']:.0f} GFLOP/s of "
        f"float32 FMA, read {rates['read_gbps']:.1f} GB/s, copy {rates['copy_gbps']:.1f} GB/s, "
        f"with streaming stores {rates['stream_copy_gbps']:.1f} GB/s.",
        "",
        "Medians in milliseconds, in one process, in turns, each verified first. Peers keep the",
        "memory that they free (`mallopt`), which helps them. `fast` loses about one decimal",
        "digit; the peers are at `ieee`, float32 throughout. Shares of the FMA peak count the",
        "direct method's FLOPs, so `fast` may exceed 100 %. `softmax` is the public call,",
        "on NumPy's arrays, with `out`.",
        "",
        *_times(results["rows"]),
        "",
        "Against the best of the peers:",
        "",
        *_ratios(results["rows"]),
        "",
        "Largest absolute error against float64:",
        "",
        *_errors(results["rows"]),
    ]
    return "\n".join(lines) + "\n"


def _times(rows: list[Record]) -> list[str]:
    names = _contestants(rows)
    cells = []
    for row in rows:
        times = {one["name"]: one.get("time_ms", {}).get("median") for one in row["entries"]}
        shown = (_number(times.get(name), ".3g") for name in names)
        cells.append([_label(row), f"{row['floor_ms']:.3g}", *shown])
    return markdown_table(["problem", "floor", *map(_heading, names)], cells)


def _ratios(rows: list[Record]) -> list[str]:
    head = (
        "problem",
        "best peer",
        "`ieee`",
        "aim",
        "share of peak",
        "`fast`",
        "aim",
        "effective share",
    )
    cells = []
    for row in rows:
        cells.append([_label(row), str(row["best_peer"])])
        for precision in PRECISIONS:
            found, aim = row.get(precision), row["case"][precision]
            ratio = found and found["times_best_peer"]
            cells[-1] += [
                f"{ratio:.2f}x" if ratio else "-",
                f"{aim}x" if aim else "-",
                f"{found['fma_fraction']:.0%}" if found and found["fma_fraction"] else "-",
            ]
    return markdown_table(head, cells)


def _errors(rows: list[Record]) -> list[str]:
    names = _contestants(rows)
    cells = []
    for row in rows:
        errors = {one["name"]: one.get("max_abs_error") for one in row["entries"]}
        cells.append([_label(row), *(_number(errors.get(name), ".1e") for name in names)])
    return markdown_table(["problem", *map(_heading, names)], cells)


def _contestants(rows: list[Record]) -> list[str]:
    """Ours at both precisions, then every peer that computed anything."""
    found = (one["name"] for row in rows for one in row["entries"] if "max_abs_error" in one)
    peers = dict.fromkeys(name for name in found if not name.startswith("rooftile"))
    return ["rooftile ieee", "rooftile fast", *peers]


def _heading(name: str) -> str:
    return f"rooftile `{name.split()[1]}`" if name.startswith("rooftile") else name


def _label(row: Record) -> str:
    return f"`{Case(**row['case']).label}`"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", nargs="*", help="labels to measure, such as 'mnist8 B=1'")
    parser.add_argument("--write", action="store_true", help="write the records and the page")
    options = parser.parse_args()
    installed = versions(PACKAGES)
    roof = ceilings(progress=lambda line: print(line, file=sys.stderr))
    rows = []
    with keeping_memory():
        for case in CASES:
            if options.only and case.label not in options.only:
                continue
            print(case.label, file=sys.stderr)
            rows.append(judge(case, roof.all_cores))
    results = {
        "environment": dataclasses.asdict(environment()),
        "versions": ", ".join(
            f"{name} {installed.get(name, 'not installed')}" for name in PACKAGES
        ),
        "ceilings": dataclasses.asdict(roof),
        "rows": rows,
    }
    text = page(results)
    if options.write:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
