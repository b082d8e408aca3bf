"""Set predictions beside a GPU's counters: measure them, or write them into docs/analysis.md.

    python benchmarks/analysis_page.py --measure            # on the GPU, with ncu
    python benchmarks/analysis_page.py                      # the page, from the record

The record is ``benchmarks/results/h200-explain.json``; rungs that it has are not measured
again, so that an interrupted run is taken up where it ended.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from rooftile.devices.select import open_gpu
from rooftile.errors import RooftileError
from rooftile.lab.environment import environment, gpu_libraries
from rooftile.lab.explain import explain
from rooftile.lab.explain.counters import TIME
from rooftile.lab.explain.profile import CLOSE, compare, profile
from rooftile.lab.explain.target import find_target
from rooftile.lab.records import plain
from rooftile.ops import named
from rooftile.strategies import ladder
from rooftile.strategies.gpu import GpuStrategy

RECORD = Path(__file__).parent / "results" / "h200-explain.json"
PAGE = Path(__file__).parent.parent / "docs" / "analysis.md"
BEGIN, END = "<!-- counted: begin -->", "<!-- counted: end -->"
PROBLEMS = (("conv2d", "lenet-conv1", 1000), ("linear", "mnist-linear1", 256))
UNMEASURED = "Not measured yet: the record that this table is made of does not exist."

Record = dict[str, Any]


def measure(only: list[str]) -> None:
    """Profile every rung with a model on each problem; write the record after each."""
    record = read() or {"runs": []}
    device = open_gpu("cuda").description
    record["device"] = plain(dataclasses.asdict(device))
    record["environment"] = plain(dataclasses.asdict(environment()))
    record["environment"]["libraries"] = gpu_libraries("cuda")
    done = {(run["shape"], run["strategy"]) for run in record["runs"]}
    for operation, shape, batch in PROBLEMS:
        problem = named(operation, shape, batch)
        for rung in ladder(operation, "cuda"):
            assert isinstance(rung, GpuStrategy)
            skipped = (shape, rung.name) in done or (only and rung.name not in only)
            against = rung.why_not(problem) or rung.why_not_on(device.architecture)
            if skipped or against is not None:
                continue
            print(f"{shape}: {rung.name}", file=sys.stderr)
            found = explain(rung, problem, "cuda", find_target("cuda"))
            asked = {"operation": operation, "shape": shape, "batch": batch, "device": "cuda",
                     "strategy": rung.name, "config": dict(found.config), "seed": 0}  # fmt: skip
            try:
                counted = profile(asked)
            except RooftileError as error:
                print(f"  {error}", file=sys.stderr)
                continue
            rows = compare(found, counted)
            asked["bound_ms"], asked["bound_by"] = found.bound_ms, found.bound_by
            asked["time_ms"] = sum(1e-6 * each.values[TIME] for each in counted)
            asked["counters"] = [dataclasses.asdict(each) for each in counted]
            asked["compared"] = [
                {**dataclasses.asdict(row), "off": row.off, "why": row.why} for row in rows
            ]
            record["runs"].append(plain(asked))
            RECORD.write_text(json.dumps(record, indent=1, allow_nan=False), encoding="utf-8")


def read() -> Record | None:
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else None


def lines(record: Record | None) -> list[str]:
    """The table of each problem, and why predictions are off."""
    if record is None:
        return [UNMEASURED]
    device, time = record["device"], record["environment"]["time"]
    made = [f"{device['name']}, {device['driver']}, {time[:10]}."]
    for operation, shape, batch in PROBLEMS:
        runs = [run for run in record["runs"] if run["shape"] == shape]
        if not runs:
            continue
        made += ["", f"### `{operation}`, `{shape}`, {batch:,} inputs", ""]
        made += ["| rung | bound, ms | set by | time, ms | bound over time |", "| --- " * 5 + "|"]
        made += [_times(run) for run in runs] + [""]
        made += ["| rung | kernel | what | predicted | counted | off |", "| --- " * 6 + "|"]
        reasons: dict[str, list[str]] = {}
        for run in runs:
            for row in run["compared"]:
                made.append(_row(run["strategy"], row))
                if row["why"]:
                    place = f"`{run['strategy']}` `{row['kernel']}`"
                    reasons.setdefault(f"{row['what']}: {row['why']}", []).append(place)
        made += ["", f"Off by more than {100 * CLOSE:.0f} %, and the assumption that fails:", ""]
        made += [f"- {why} ({', '.join(places)})" for why, places in reasons.items()]
        made += [] if reasons else ["- none"]
    return made


def _times(run: Record) -> str:
    bound, time = run["bound_ms"], run["time_ms"]
    known = (f"{bound:.4g}", run["bound_by"]) if bound is not None else ("not known", "")
    share = f"{100 * bound / time:.0f} %" if bound is not None else ""
    cells = (f"`{run['strategy']}`", *known, f"{time:.4g}", share)
    return f"| {' | '.join(cells)} |"


def _row(strategy: str, row: Record) -> str:
    def amount(value: float | None) -> str:
        if value is None:
            return "no model"
        if not row["unit"]:
            return f"{100 * value:.0f} %"
        return f"{value / 1e6:,.3f} M{row['unit']}"

    off = "" if row["off"] is None else f"{100 * row['off']:+.0f} %"
    cells = (f"`{strategy}`", f"`{row['kernel']}`", row["what"], amount(row["predicted"]),
             amount(row["counted"]), off)  # fmt: skip
    return f"| {' | '.join(cells)} |"


def page(text: str, record: Record | None) -> str:
    """The page with the part between its marks made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([before + BEGIN, "", *lines(record), "", END + after])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true", help="profile on the GPU first")
    parser.add_argument("--only", nargs="*", default=[], metavar="RUNG", help="these rungs alone")
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.only)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), read()), encoding="utf-8")


if __name__ == "__main__":
    main()
