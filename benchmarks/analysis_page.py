"""Set predictions beside a GPU's times and counters: measure, or write docs/understand/analysis.md.

    python benchmarks/analysis_page.py --measure            # on the GPU, best with ncu
    python benchmarks/analysis_page.py                      # the page, from the record

The record is ``benchmarks/results/h200-explain.json``.  A problem that it has is not measured
again, unless ``--only`` names rungs: those are measured anew.  Without Nsight Compute there
are times and the driver's occupancy, and the page says why there are no counters.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pages import filled, markdown_table

from rooftile.devices.select import open_device
from rooftile.errors import DeviceMissing, RooftileError
from rooftile.lab.measure.climb import climb_problem
from rooftile.lab.measure.records import Row, plain
from rooftile.lab.show.explain import Explanation, Measured, explain
from rooftile.lab.show.explain.profile import CLOSE, compare, profile
from rooftile.lab.show.explain.target import find_target
from rooftile.ops import Problem, named
from rooftile.strategies import ladder, strategy

RECORD = Path(__file__).parent / "results" / "h200-explain.json"
PAGE = Path(__file__).parent.parent / "docs" / "understand" / "analysis.md"
WHOLE = RECORD.with_suffix(".md")
PROBLEMS = (("conv2d", "lenet-conv1", 1000), ("linear", "mnist-linear1", 256))
UNMEASURED = "Not measured yet: the record that these tables are made of does not exist."
_LIMIT_S = 60.0

Record = dict[str, Any]


def measure(only: list[str]) -> None:
    """Time, explain and profile the rungs; the record is written after each."""
    record = read() or {"runs": []}
    record["without_counters"] = ""
    for operation, shape, batch in PROBLEMS:
        known = [run for run in record["runs"] if run["shape"] == shape]
        if known and not only:
            continue
        problem, device = named(operation, shape, batch), open_device("cuda")
        rungs = [one for one in ladder(operation, "cuda") if not only or one.name in only]
        candidates = [(rung, None) for rung in rungs]
        timed = climb_problem(problem, device, candidates, limit_s=_LIMIT_S, progress=_say)
        record |= {"ceilings": timed.to_json()["ceilings"]}
        record["environment"] = timed.to_json()["environment"]
        for row in timed.rows:
            if row.time_ms is None:
                _say(f"{row.strategy}: {row.status}, {row.reason}")
                continue
            run = {"shape": shape, **_run(record, problem, shape, row)}
            others = (
                r for r in record["runs"] if (r["shape"], r["strategy"]) != (shape, row.strategy)
            )
            record["runs"] = [*others, plain(run)]
            RECORD.write_text(json.dumps(record, indent=1, allow_nan=False), encoding="utf-8")


def _run(record: Record, problem: Problem, shape: str, row: Row) -> Record:
    assert row.time_ms is not None
    rung = strategy(problem.operation, row.strategy, "cuda")
    cold = row.cold_ms.median if row.cold_ms else None
    measured = Measured(row.time_ms.median, cold, row.device, "climb", dict(row.config))
    found = explain(rung, problem, "cuda", find_target("cuda"), measured=measured)
    predicted = [k.occupancy.occupancy for k in found.kernels if k.occupancy is not None]
    return {
        "strategy": row.strategy,
        "config": dict(found.config),
        "limits_ms": dict(found.limits_ms),
        "bound_ms": found.bound_ms,
        "bound_by": found.bound_by,
        "time_ms": measured.median_ms,
        "cold_ms": cold,
        "occupancy": {
            "predicted": min(predicted, default=None),
            "driver": row.resources.occupancy,
        },
        **_counted(record, shape, found),
    }


def _counted(record: Record, shape: str, found: Explanation) -> Record:
    """The counters and the comparison; both empty where they cannot be read."""
    _say(f"counting: {found.strategy}")
    asked = {
        "operation": found.problem.operation,
        "shape": shape,
        "batch": found.problem.batch_size,
        "strategy": found.strategy,
        "device": "cuda",
        "config": dict(found.config),
        "seed": 0,
    }
    try:
        counted = [] if record["without_counters"] else profile(asked)
    except DeviceMissing as error:
        record["without_counters"] = str(error)
        counted = []
    except RooftileError as error:
        _say(str(error))
        counted = []
    compared = [
        {**dataclasses.asdict(row), "off": row.off, "why": row.why}
        for row in compare(found, counted)
    ]
    return {"counters": [dataclasses.asdict(each) for each in counted], "compared": compared}


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def read() -> Record | None:
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else None


def short(record: Record | None) -> list[str]:
    """A problem's bounds and times, how many predictions are close, and why others are not."""
    if record is None:
        return [UNMEASURED]
    device, time = record["environment"]["device"], record["environment"]["time"]
    operation, shape, batch = PROBLEMS[0]
    runs = [run for run in record["runs"] if run["shape"] == shape]
    head, rows = _times_of(runs)
    kept = (0, 1, 2, 3, 5)
    compared = [row for run in record["runs"] for row in run["compared"]]
    counted = [row for row in compared if row["off"] is not None]
    close = sum(abs(row["off"]) <= CLOSE for row in counted)
    reasons = dict.fromkeys(f"- {row['what']}: {row['why']}" for row in compared if row["why"])
    return [
        f"`{operation}`, `{shape}`, {batch:,} inputs on an {device['name']}, {time[:10]}:",
        "",
        *markdown_table([head[n] for n in kept], [[row[n] for n in kept] for row in rows]),
        "",
        f"{close} of {len(counted)} predictions are within {100 * CLOSE:.0f} % of what Nsight "
        f"Compute counts; all of them: `benchmarks/results/{WHOLE.name}`. The others, and the "
        "assumption that fails:",
        "",
        *reasons,
    ]


def whole(record: Record | None) -> str:
    """The file beside the record: every rung of every problem, with its counters."""
    head = ["# What was predicted, and what was counted", ""]
    return "\n".join([*head, *lines(record)]).rstrip() + "\n"


def lines(record: Record | None) -> list[str]:
    """The tables of each problem, and why predictions are off."""
    if record is None:
        return [UNMEASURED]
    device, time = record["environment"]["device"], record["environment"]["time"]
    made = [
        f"{device['name']}, {device['driver']}, {time[:10]}. Times are those of `rooftile climb`."
    ]
    if record["without_counters"]:
        made += ["", f"No counters: {record['without_counters']}"]
    for operation, shape, batch in PROBLEMS:
        runs = [run for run in record["runs"] if run["shape"] == shape]
        if runs:
            made += ["", f"### `{operation}`, `{shape}`, {batch:,} inputs", "", *_times(runs)]
        if any(run["compared"] for run in runs):
            made += ["", *_comparisons(runs)]
    return made


def _times(runs: list[Record]) -> list[str]:
    return markdown_table(*_times_of(runs))


def _times_of(runs: list[Record]) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """The head and the rows of a table of times."""
    head = (
        "rung",
        "bound, ms",
        "set by",
        "ms",
        "cold ms",
        "bound over time",
        "occupancy predicted",
        "occupancy by the driver",
    )
    rows: list[tuple[str, ...]] = []
    for run in runs:
        bound, time, held = run["bound_ms"], run["time_ms"], run["occupancy"]
        known = bound is not None
        rows.append(
            (
                f"`{run['strategy']}`",
                f"{bound:.4g}" if known else "not known",
                run["bound_by"],
                f"{time:.4g}",
                "" if run["cold_ms"] is None else f"{run['cold_ms']:.4g}",
                f"{100 * bound / time:.0f} %" if known else "",
                _percent(held["predicted"]),
                _percent(held["driver"]),
            )
        )
    return head, rows


def _comparisons(runs: list[Record]) -> list[str]:
    rows: list[tuple[str, ...]] = []
    reasons: dict[str, list[str]] = {}
    for run in runs:
        for row in run["compared"]:
            rows.append(_row(run["strategy"], row))
            if row["why"]:
                place = f"`{run['strategy']}` `{row['kernel']}`"
                reasons.setdefault(f"{row['what']}: {row['why']}", []).append(place)
    made = markdown_table(("rung", "kernel", "what", "predicted", "counted", "off"), rows)
    made += ["", f"Off by more than {100 * CLOSE:.0f} %, and the assumption that fails:", ""]
    made += [f"- {why} ({', '.join(places)})" for why, places in reasons.items()]
    return made if reasons else [*made, "- none"]


def _row(rung: str, row: Record) -> tuple[str, ...]:
    def amount(value: float | None) -> str:
        if value is None:
            return "no model"
        return f"{value / 1e6:,.3f} M{row['unit']}" if row["unit"] else _percent(value)

    off = "" if row["off"] is None else f"{100 * row['off']:+.0f} %"
    predicted, counted = amount(row["predicted"]), amount(row["counted"])
    return (f"`{rung}`", f"`{row['kernel']}`", row["what"], predicted, counted, off)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def page(text: str, record: Record | None) -> str:
    """The page with what it has from the record made anew."""
    return filled(text, [*short(record), ""], "counted")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--measure", action="store_true", help="measure on the GPU first")
    parser.add_argument("--only", nargs="*", default=[], metavar="RUNG", help="these rungs alone")
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.only)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), read()), encoding="utf-8")
    WHOLE.write_text(whole(read()), encoding="utf-8")


if __name__ == "__main__":
    main()
