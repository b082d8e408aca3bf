"""Measure rooftile against its peers on this machine's CPU and write the table of the docs.

    python benchmarks/cpu.py [--only NAME ...] [--write]

Everything of one row runs in one process, verified first, then timed in turns, with a
pause before each so that nobody is slowed by another library's spinning threads (see
`rooftile.lab.measure`).  Peers keep the memory that they free, which helps them (see
`rooftile.lab.peers.keeping_memory`).  Weights are packed before the timing on all
sides, except by eager torch, which never packs.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.lab.ceilings import Rates, ceilings
from rooftile.lab.environment import environment
from rooftile.lab.measure import Timing, interleaved
from rooftile.lab.peers import PEERS, keeping_memory
from rooftile.lab.verify import Exam
from rooftile.nn import architecture
from rooftile.ops import Problem, named
from rooftile.ops.chain import Chain
from rooftile.strategies import strategy

RESULTS = Path(__file__).parent / "results" / "cpu.json"
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


@dataclasses.dataclass(frozen=True)
class Case:
    """A problem, or a network, with what it is to reach against the best peer."""

    name: str
    batch: int
    ieee: float
    """Times as fast as the best peer, at ieee precision."""
    fast: float | None = None
    network: bool = False

    @property
    def label(self) -> str:
        return f"{self.name} B={self.batch}"


CASES = (
    Case("lenet-conv1", 1000, 5.0),
    Case("lenet-conv2", 1000, 1.35, 2.5),
    Case("lab-conv5", 1, 0.95, 4.5),
    Case("lenet5", 1000, 2.4, 4.5, network=True),
    Case("mnist8", 256, 1.1, network=True),
    Case("mnist8", 1, 1.0, network=True),
)

Bound = Callable[[Any, Any], object]


def problem_of(case: Case) -> Problem:
    if not case.network:
        return named("conv2d", case.name, case.batch)
    return Chain(architecture(case.name).problems(case.batch))


def ours(case: Case, exam: Exam, precision: str) -> Bound:
    """A strategy of ours, or a network's plan, bound to the exam's parameters."""
    if not case.network:
        name = "winograd" if precision == "fast" else "register_tile"
        return strategy("conv2d", name).bind(exam.problem, *exam.parameters)
    shape = architecture(case.name)
    keys = shape.parameter_shapes
    network = shape.with_parameters(dict(zip(keys, exam.parameters, strict=True)))
    plan = network.plan(batch=case.batch, precision=precision)  # type: ignore[arg-type]
    return lambda x, out: plan(x, out=out)


def judge(case: Case, rates: Rates) -> dict[str, Any]:
    """Verify everybody, then time all that passed in turns."""
    problem = problem_of(case)
    exam = Exam(problem, seed=0)
    calls: dict[str, Callable[[], object]] = {}
    entries: list[dict[str, Any]] = []

    def admit(name: str, precision: str, bound: Bound, call: Callable[[], object]) -> None:
        verdict = exam.examine(bound, precision)
        entry = {"name": name, "precision": precision, "max_abs_error": verdict.max_abs}
        entries.append({**entry, "status": "passed" if verdict.passed else verdict.reason})
        if verdict.passed:
            bound(exam.x, np.empty(problem.output_shape, np.float32))
            calls[name] = call

    for precision in ("ieee", "fast"):
        if precision == "fast" and case.fast is None:
            continue
        bound = ours(case, exam, precision)
        out = np.empty(problem.output_shape, np.float32)
        admit(f"rooftile {precision}", precision, bound, lambda b=bound, o=out: b(exam.x, o))
    for peer in PEERS:
        reason = peer.why_not()
        if reason is not None:
            entries.append({"name": peer.name, "precision": "ieee", "status": reason})
            continue
        print(f"  {peer.name}", file=sys.stderr)
        called = peer.bind(problem, *exam.parameters)
        admit(peer.name, "ieee", called, called.run)
    timings = interleaved(calls, seconds=8.0)
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


def ratios(timings: dict[str, Timing], problem: Problem, rates: Rates) -> dict[str, Any]:
    """Ours against the best peer, and against the FMA units' peak."""
    peers = {name: t.median for name, t in timings.items() if not name.startswith("rooftile")}
    best = min(peers, key=peers.__getitem__) if peers else None
    found: dict[str, Any] = {"best_peer": best}
    for precision in ("ieee", "fast"):
        timing = timings.get(f"rooftile {precision}")
        if timing is not None:
            found[precision] = {
                "times_best_peer": peers[best] / timing.median if best else None,
                "fma_fraction": problem.flops / timing.median * 1e-6 / rates.fma_gflops,
            }
    return found


def page(results: dict[str, Any]) -> str:
    """The documentation page, all of its numbers from the records."""
    env, rates = results["environment"], results["ceilings"]["all_cores"]
    peers = list(dict.fromkeys(
        entry["name"] for row in results["rows"] for entry in row["entries"]
        if not entry["name"].startswith("rooftile")
    ))  # fmt: skip
    lines = [
        "# Benchmarks: CPU", "",
        "Generated by `make bench` (`python benchmarks/cpu.py --write`); the records are in",
        "`benchmarks/results/cpu.json`. Nothing here is typed by hand.", "",
        f"{env['time']}, {env['cpu']}, {env['cores']} cores, Python {env['python']}, "
        f"Numba {env['numba']}. Peers: {results['versions']}.", "",
        f"Measured ceilings on {rates['threads']} threads: {rates['fma_gflops']:.0f} GFLOP/s of "
        f"float32 FMA, read {rates['read_gbps']:.1f} GB/s, copy {rates['copy_gbps']:.1f} GB/s, "
        f"with streaming stores {rates['stream_copy_gbps']:.1f} GB/s.", "",
        "Medians in milliseconds, in one process, in turns, each verified first. Peers keep the",
        "memory that they free (`mallopt`), which helps them. `fast` loses about one decimal",
        "digit; the peers are at `ieee`, float32 throughout. Shares of the FMA peak count the",
        "direct method's FLOPs, so `fast` may exceed 100 %.", "",
        "| problem | floor | rooftile `ieee` | rooftile `fast` | " + " | ".join(peers) + " |",
        "| --- | --- | --- | --- |" + " --- |" * len(peers),
    ]  # fmt: skip
    for row in results["rows"]:
        times = {entry["name"]: entry.get("time_ms", {}).get("median") for entry in row["entries"]}
        cells = [times.get(name) for name in ("rooftile ieee", "rooftile fast", *peers)]
        shown = ["-" if cell is None else f"{cell:.3g}" for cell in cells]
        label = Case(**row["case"]).label
        lines.append(f"| `{label}` | {row['floor_ms']:.3g} | " + " | ".join(shown) + " |")
    lines += [
        "", "Against the best of the peers:", "",
        "| problem | best peer | `ieee` | aim | share of peak | `fast` | aim | effective share |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    for row in results["rows"]:
        case, cells = Case(**row["case"]), []
        for precision, aim in (("ieee", case.ieee), ("fast", case.fast)):
            found = row.get(precision)
            ratio = found and found["times_best_peer"]
            cells += [
                f"{ratio:.2f}x" if ratio else "-",
                f"{aim}x" if aim else "-",
                f"{found['fma_fraction']:.0%}" if found else "-",
            ]
        lines.append(f"| `{case.label}` | {row['best_peer']} | " + " | ".join(cells) + " |")
    lines += [
        "", "Largest absolute error against float64:", "",
        "| problem | " + " | ".join(["rooftile `ieee`", "rooftile `fast`", *peers]) + " |",
        "| --- |" + " --- |" * (2 + len(peers)),
    ]  # fmt: skip
    for row in results["rows"]:
        errors = {entry["name"]: entry.get("max_abs_error") for entry in row["entries"]}
        cells = [errors.get(name) for name in ("rooftile ieee", "rooftile fast", *peers)]
        shown = ["-" if cell is None else f"{cell:.1e}" for cell in cells]
        lines.append(f"| `{Case(**row['case']).label}` | " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"


def versions() -> str:
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for package in ("torch", "onnxruntime", "openvino"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} not installed")
    return ", ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", nargs="*", help="labels to measure, such as 'mnist8 B=1'")
    parser.add_argument("--write", action="store_true", help="write the records and the page")
    options = parser.parse_args()
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
        "versions": versions(),
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
