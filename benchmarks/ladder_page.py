"""Write docs/learn/gpu.md, the walk up the ladder of conv2d on a GPU, from the records.

    python benchmarks/ladder_page.py

What a rung changes and which limit it removes stands at the head of its kernel's text; every
number is from ``benchmarks/results/h200-*.json``, which `benchmarks/gpu.py` writes, and of rungs
that are not there from that of the table, `benchmarks/table.py`.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, get_args

from pages import markdown_table

from rooftile.lab.measure.records import peer_precision
from rooftile.ops import Precision, named
from rooftile.strategies import Strategy, ladder
from rooftile.strategies.contract.gpu import of_launches
from rooftile_papers.reproduce.figures import table as published_table

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parent.parent / "docs" / "learn" / "gpu.md"
WHOLE = Path(__file__).parent / "results" / "h200-conv2d.md"
PROBLEMS = {"lenet-conv1": 10000, "lenet-conv2": 10000, "lab-conv5": 1}
"""Named problems with their batch, in the order of the page."""
PUBLISHED = "opencl.variants"
"""The table of what the OpenCL report measured of its four variants, on `lab-conv5` on an M60."""
CUBLAS = {"copy_gbps": "about 4,300", "tf32": "350", "fp16": "655", "bf16": "677"}
"""What others report of an H200: a device copy, and cuBLAS's 8192^3 products in TFLOP/s."""

WGMMA = (
    "What is multiplied decides the power, and so the clock: the ceiling is the rate of standard",
    "normal numbers, as the problems have; of zeros it is what no kernel can pass.",
)
"""This stands under the ceilings that have the rate of `wgmma`."""

Record = dict[str, Any]
Times = dict[tuple[str, str], float]
"""Milliseconds by problem and rung."""


def records() -> dict[str, Record]:
    """The record of each problem that has one."""
    found = {}
    for name in PROBLEMS:
        path = RESULTS / f"h200-{name}.json"
        if path.exists():
            record = json.loads(path.read_text(encoding="utf-8"))
            if record.get("ceilings"):  # Records without are from before there were ceilings.
                found[name] = record
    return found


def table_times() -> Times:
    """The best times of the table's convolutions."""
    path = RESULTS / "h200-table.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    found: Times = {}
    for row in rows:
        for one in row["rows"]:
            if one["kind"] == "strategy" and one["time_ms"] and not row["case"]["network"]:
                key = row["case"]["name"], one["strategy"]
                found[key] = min(one["time_ms"]["median"], found.get(key, math.inf))
    return found


def explanation(rung: Strategy) -> str:
    """The paragraphs at the head of a rung's text, between its title and its arrays."""
    rung = of_launches(rung)
    lines = []
    for line in rung.text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line.removeprefix("//").strip())
    paragraphs = "\n".join(lines).split("\n\n")
    kept = [p for p in paragraphs[1:] if not p.startswith(("x[", "Grid", "Block"))]
    return code("\n\n".join(kept))


def code(text: str) -> str:
    """Names with underscores as code, which Markdown would take for emphasis."""
    return re.sub(r"(?<![`\w])(\w*_\w+)(?![`\w])", r"`\1`", text).replace(".  ", ". ")


def rows_of(record: Record, rung: str) -> Record:
    return next(
        (row for row in record["rows"] if (row["kind"], row["strategy"]) == ("strategy", rung)), {}
    )


def milliseconds(row: Record, key: str = "time_ms") -> str:
    return f"{row[key]['median']:.4g}" if row.get(key) else "-"


_UNKNOWN = "not in the record"


def gain(
    name: str, record: Record, rungs: tuple[Strategy, ...], rung: Strategy, times: Times
) -> str:
    """A rung's time, and its speed over the one before it that has a time; without a row of its
    own, its time in the run of the table."""
    row = rows_of(record, rung.name)
    if not row and (name, rung.name) in times:
        return f"{times[name, rung.name]:.4g} ms, in the run of [the table](../reference/h200.md)"
    if not row:
        reason = rung.why_not(named("conv2d", name, PROBLEMS[name]))
        return f"not taken: {reason}" if reason else _UNKNOWN
    if not row["time_ms"]:
        return f"{row['status']}, {row['reason']}"
    before = None
    for other in rungs[: rungs.index(rung)]:
        other_row = rows_of(record, other.name)
        before = other_row if other_row.get("time_ms") else before
    shown = f"{milliseconds(row)} ms, {row['gflops'] / 1000:.2f} TFLOP/s"
    if before is None:
        return shown
    ratio = before["time_ms"]["median"] / row["time_ms"]["median"]
    return f"{shown}: {ratio:.2f} times the speed of `{before['strategy']}`"


def walk(found: dict[str, Record], rungs: tuple[Strategy, ...], times: Times) -> list[str]:
    """A section a rung."""
    lines, told = ["## Up the ladder", ""], set[str]()
    for rung in rungs:
        summary = code(f"{rung.summary[0].upper()}{rung.summary[1:]}.")
        lines += [f"### `{rung.name}`", "", summary, ""]
        why = explanation(rung)
        lines += [why, ""] if why and why not in told else []
        picture = f"../pictures/{rung.operation}-{rung.name}.svg"
        if (PAGE.parent / picture).exists():
            lines += [f"![What its first block works on]({picture})", ""]
        told.add(why)
        if rung.apart:
            lines += [f"Kernels of their own: {rung.apart}.", ""]
        gains = {name: gain(name, record, rungs, rung, times) for name, record in found.items()}
        told_of = [f"- `{name}`: {said}" for name, said in gains.items() if said != _UNKNOWN]
        told_of += published_line(rung.name)
        lines += [*told_of, ""] if told_of else []
    return lines


def short_table(name: str, record: Record, times: Times) -> list[str]:
    """A problem's rungs and peers: what a reader of the walk compares."""
    lines = table(name, record, times)
    first = next(n for n, line in enumerate(lines) if line.startswith("| rung"))
    kept = [0, 1, 2, 4, 7, 8, 11]
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        rows.append([cells[n] for n in kept] if len(cells) > 1 else cells)
    made = markdown_table(rows[0], [row for row in rows[2:] if row[2] != "skipped"])
    said = [line for line in lines if line.startswith(("- Fastest", "- Newer"))]
    return [*lines[:first], *made, "", *said, ""]


def table(name: str, record: Record, times: Times) -> list[str]:
    """Every rung and peer of a problem's record, and which others the table has."""
    problem, published = record["problem"], name == "lab-conv5"
    head = [
        "rung",
        "precision",
        "ms",
        "cold ms",
        "TFLOP/s",
        "max. error",
        "of budget",
        "of roof",
        "registers",
        "shared B",
        "spilled B",
        "occupancy",
    ]
    head += ["published GFLOP/s (M60)"] if published else []
    lines = [
        f"## `{name}`, {problem['batch']:,} image{'s' * (problem['batch'] > 1)}",
        "",
        f"{problem['flops'] / 1e9:.4g} GFLOP, at least {problem['bytes'] / 1e6:.4g} MB; "
        f"{record['environment']['time'][:10]}, {record['environment']['device']['name']}.",
        "",
    ]
    rows = []
    for row in record["rows"]:
        cells = [f"`{row['strategy']}`" if row["kind"] == "strategy" else row["strategy"]]
        cells += [row["precision"], milliseconds(row) if row["time_ms"] else row["status"]]
        cells += [milliseconds(row, "cold_ms"), number(row["gflops"], 1e-3, ".2f")]
        error = row["error"] or {}
        cells += [number(error.get("max_abs"), 1, ".1e")]
        cells += [number(error.get("budget_fraction"), 1, ".2f")]
        cells += [number(row["roof_fraction"], 1, ".0%")]
        used = row["resources"]
        cells += [number(used[key], 1, ".0f") for key in ("registers", "shared_bytes")]
        cells += [number(used["spill_bytes"], 1, ".0f"), number(used["occupancy"], 1, ".0%")]
        cells += [published_rate(row["strategy"])] if published else []
        rows.append(cells)
    later = [f"`{rung}`" for at, rung in sorted(times) if at == name and not rows_of(record, rung)]
    other = f"- Newer, in the run of [the table](../reference/h200.md): {', '.join(later)}."
    lines += markdown_table(head, rows)
    return [*lines, "", *remarks(record), *([other] if later else []), ""]


def published_line(rung: str) -> list[str]:
    """What the report gives for a rung's variant, and where it does; empty for other rungs."""
    rate = published_rate(rung)
    where = published_table(PUBLISHED)
    said = f"- published for `lab-conv5` on a Tesla M60: {rate} GFLOP/s ({where.document}, "
    return [f"{said}{where.place})"] if rate else []


def published_rate(rung: str) -> str:
    """GFLOP/s that the report gives for a rung's variant; empty for rungs that are not of it."""
    for figure in published_table(PUBLISHED).figures:
        if figure.key == rung:
            return f"about {figure.value:g}"
    return ""


def number(value: float | None, scale: float, form: str) -> str:
    return "-" if value is None else format(value * scale, form)


def remarks(record: Record) -> list[str]:
    """What the rows say, each once, and the best rung against the best peer."""
    said: dict[str, list[str]] = {}
    for row in record["rows"]:
        if row["reason"]:
            what = (
                row["reason"] if row["status"] == "passed" else f"{row['status']}, {row['reason']}"
            )
            said.setdefault(what, []).append(row["strategy"])
    lines = [f"- {', '.join(names)}: {what}" for what, names in said.items()]
    timed = [row for row in record["rows"] if row["time_ms"]]
    for precision in get_args(Precision):
        ours = [r for r in timed if (r["kind"], r["precision"]) == ("strategy", precision)]
        beside = ("peer", peer_precision(precision))
        peers = [r for r in timed if (r["kind"], r["precision"]) == beside]
        if peers and ours:
            best, peer = (min(rows, key=lambda r: r["time_ms"]["median"]) for rows in (ours, peers))
            ratio = peer["time_ms"]["median"] / best["time_ms"]["median"]
            lines.append(
                f"- Fastest here at `{precision}`: `{best['strategy']}`, {ratio:.2f} times the "
                f"speed of the fastest peer, {peer['strategy']} (`{peer['precision']}`)."
            )
    return lines


def ceilings(record: Record) -> list[str]:
    """The roof that the first record was placed under."""
    roof, clocks = record["ceilings"], record["ceilings"]["clocks"]
    rows = [
        ("read, GB/s", f"{roof['read_gbps']:,.0f}", ""),
        ("copy, bytes read and written, GB/s", f"{roof['copy_gbps']:,.0f}", CUBLAS["copy_gbps"]),
        ("float32 FMA, TFLOP/s", f"{roof['fma_gflops'] / 1000:.1f}", ""),
        *matrix_rows(roof),
        ("host to device, pageable, GB/s", f"{roof['to_device_gbps']:.1f}", ""),
        ("device to host, pageable, GB/s", f"{roof['from_device_gbps']:.1f}", ""),
        ("host to device, pinned, GB/s", number(roof["to_device_pinned_gbps"], 1, ".1f"), ""),
        ("device to host, pinned, GB/s", number(roof["from_device_pinned_gbps"], 1, ".1f"), ""),
        ("an empty launch and the wait for it, us", f"{roof['launch_us']:.1f}", ""),
        ("an empty kernel in a graph, us", f"{roof['replay_us']:.2f}", ""),
    ]
    lines = ["## Ceilings", "", *markdown_table(("what", "measured", "reported elsewhere"), rows)]
    if clocks:
        lines += [
            "",
            f"Meanwhile the clock was {clocks['sm_mhz']} MHz in the median and "
            f"{clocks['sm_mhz_min']} MHz at least.",
        ]
    wgmma = bool(roof.get("wgmma_gflops"))
    return [
        *lines,
        "",
        "What is reported elsewhere is a device copy, and cuBLAS's largest matrix products.",
        "`mma.sync` is one warp's instruction; on Hopper, cuBLAS multiplies with `wgmma`, which",
        "four warps issue together and which alone reaches the full rate"
        + ("." if wgmma else ": hence the difference."),
        *(WGMMA if wgmma else ()),
        "",
    ]


def matrix_rows(roof: Record) -> list[tuple[str, str, str]]:
    """Rates of matrix instructions; cuBLAS's beside those that it uses, as far as measured."""
    names = {
        "mma_gflops": "`mma.sync`",
        "wgmma_gflops": "`wgmma`",
        "wgmma_zeros_gflops": "`wgmma` of zeros",
    }
    beside = "wgmma_gflops" if roof.get("wgmma_gflops") else "mma_gflops"
    return [
        (f"{what} {name}, TFLOP/s", f"{rate / 1000:.0f}", CUBLAS[name] if key == beside else "")
        for key, what in names.items()
        for name, rate in roof.get(key, {}).items()
    ]


def peers_text(found: dict[str, Record]) -> list[str]:
    """What the peers compute in, as far as the records have them."""
    rows = [row for record in found.values() for row in record["rows"]]
    if {row["precision"] for row in rows if row["kind"] == "peer"} <= {"ieee"}:
        return ["float32 without TF32."]
    return [
        "the rung's own precision: at `ieee` in float32 without TF32, at `tf32` with it, at `fp16`",
        "and `bf16` with weights, input and result in that format, where a rung's arrays are",
        "float32. No rung is compared with a peer of another precision, but `fast` with `ieee`.",
    ]


def whole(found: dict[str, Record], times: Times) -> str:
    """The file beside the records: every column and remark."""
    lines = ["# The ladder of conv2d on a GPU: every column", ""]
    for name, record in found.items():
        lines += table(name, record, times)
    return "\n".join(lines).rstrip() + "\n"


def page(found: dict[str, Record], times: Times) -> str:
    """The documentation page, all of its measured numbers from the records."""
    lines = [
        "# The ladder of conv2d on a GPU",
        "",
        "Generated by `python benchmarks/ladder_page.py` from `benchmarks/results/h200-*.json`,",
        "which `python benchmarks/gpu.py` measures. No measured number here is typed by hand.",
        "",
        "Times are medians by the GPU's clock, of launches replayed from a graph on data in its",
        "memory, all rungs and peers in turns in one process. Each was verified first, on the",
        "whole batch. The roof is the larger of FLOPs over the measured rate of the precision and",
        "compulsory bytes over the measured bandwidth. `fast` loses about one decimal digit; its",
        "FLOPs are the direct method's, of which its transforms save some. Cold times,",
        f"errors and remarks: `benchmarks/results/{WHOLE.name}`. The peers are PyTorch at",
        *peers_text(found),
        "",
    ]
    lines += [f"`{name}` has no record yet." for name in PROBLEMS if name not in found]
    lines += [""] if len(found) < len(PROBLEMS) else []
    for record in list(found.values())[:1]:
        device, env = record["environment"]["device"], record["environment"]
        libraries = {**device["libraries"], **record["peers"]}
        listed = ", ".join(f"{name} {version}" for name, version in libraries.items())
        lines += [f"{device['name']}, {device['driver']}, Python {env['python']}; {listed}.", ""]
        lines += ceilings(record)
    lines += walk(found, ladder("conv2d", "cuda"), times)
    for name, record in found.items():
        lines += short_table(name, record, times)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(records(), table_times()), encoding="utf-8")
    WHOLE.write_text(whole(records(), table_times()), encoding="utf-8")
