"""The sparse page's tables that are no rows of the patterns: chooser, solver and others."""

from __future__ import annotations

import statistics

from pages import markdown_table
from patterns_fit import NEAR
from patterns_rows import Record

from rooftile.analysis.spmv import Structure, estimates
from rooftile.analysis.spmv_machines import H200, PROCESSOR, Machine

_FITTED = {
    True: "Its rates were taken from these times.",
    False: "Its rates were taken from an earlier run on such a processor.",
}
"""Of a GPU, and of a processor."""
_PEERS = {
    "scipy": ("SciPy", "which run on one thread"),
    "cupy": ("CuPy", "which stay in the GPU's memory too"),
}
"""Who converts beside us."""


def sections(record: Record) -> list[str]:
    """What a record says of them; nothing of what it does not have."""
    parts = (("solver", _solver), ("warps", _warps), ("conversions", _conversions))
    lines = _chooser(record) if record.get("chooser") else []
    return [*lines, *(line for name, part in parts for line in part(record.get(name) or []))]


def told(record: Record) -> list[str]:
    """What a record says of the chooser in words."""
    return [_chooser(record)[2], ""] if record.get("chooser") else []


def _machine(record: Record) -> Machine:
    """By whose rates formats are chosen there."""
    return H200 if record["environment"].get("device") else PROCESSOR


def _chooser(record: Record) -> list[str]:
    found = record["chooser"]
    head = ["matrix", "entries", "chosen", "predicted, us", "measured", "best", "us", "over best"]
    apart = record.get("held_out", {})
    rows, near = [], 0
    for one in found:
        measured = one["measured_us"]
        # What the model says now, of a structure that was measured then.
        told = estimates(Structure(**one["structure"]), machine=_machine(record))
        predicted = {e.form: 1e3 * e.ms for e in told}
        chosen = next(form for form in predicted if form in measured)
        best = min(measured, key=measured.__getitem__)
        over = measured[chosen] / measured[best]
        near += over <= NEAR
        rows.append(
            [
                one["matrix"],
                f"{one['entries']:,}",
                f"`{chosen}`",
                f"{predicted[chosen]:.1f}",
                f"{measured[chosen]:.1f}",
                f"`{best}`",
                f"{measured[best]:.1f}",
                f"{over:.2f}",
                *([f"{apart[one['matrix']]:.2f}"] if apart else []),
            ]
        )
    decided = statistics.median(one["decided_us"] for one in found)
    words = (
        f"Without trying, and in {decided:.0f} us of the host (the median), the chooser takes a "
        f"format within 10 % of the best one on {near} of {len(found)} matrices. "
        f"{_FITTED[bool(record['environment'].get('device'))]} Formats that would move far more "
        "than the least bytes were not timed. Times are warm."
    )
    if apart:
        good = sum(over <= NEAR for over in apart.values())
        words += (
            " How much of that is foresight: each family of matrices was left out in turn, the "
            "rates were fitted to the others alone, from numbers that know no format "
            "(`benchmarks/patterns_fit.py`), and chose for the family that they had not seen. So "
            f"they take a format within 10 % of the best one on {good} of {len(apart)}, the last "
            "column."
        )
        head.append("unseen")
    return ["#### The chooser", "", words, "", *markdown_table(head, rows), ""]


def _conversions(found: list[Record]) -> list[str]:
    if not found:
        return []
    peer = "cupy" if any("cupy" in one["ms"] for one in found) else "scipy"
    name, where = _PEERS[peer]
    head = ("matrix", "entries", "from", "to", "ms", f"{name}, ms", "times as fast")
    rows, compared, good = [], 0, 0
    for one in found:
        ours, theirs = one["ms"]["rooftile"], one["ms"].get(peer)
        if theirs is not None:
            compared += 1
            good += theirs >= ours
        rows.append(
            [
                one["matrix"],
                f"{one['entries']:,}",
                f"`{one['from']}`",
                f"`{one['to']}`",
                f"{ours:.3g}",
                "-" if theirs is None else f"{theirs:.3g}",
                "-" if theirs is None else f"{theirs / ours:.2f}",
            ]
        )
    words = (
        f"Medians, in turns. {good} of {compared} take no longer than {name}'s, {where}. Both list "
        f"COO in the order of rows, so that {name}'s CSC goes to it by CSR."
    )
    return ["#### Conversions", "", words, "", *markdown_table(head, rows), ""]


def _solver(found: list[Record]) -> list[str]:
    if not found:
        return []
    head = ("who", "dtype", "grid", "s", "iterations", "us an iteration", "residual")
    rows = []
    for one in found:
        start = [one["who"], one["dtype"], f"{one['side']}^2"]
        if one.get("reason"):
            rows.append([*start, one["reason"], "", "", ""])
            continue
        each = 1e6 * one["seconds"] / max(1, one["iterations"])
        rest = [f"{one['seconds']:.4g}", str(one["iterations"]), f"{each:.1f}"]
        rows.append([*start, *rest, f"{one['residual']:.2g}"])
    words = (
        "Conjugate gradients on the five-point grid to 1e-6, a random right side. The residual is "
        "that of b - A x in float64, over the norm of b."
    )
    return ["#### The solver", "", words, "", *markdown_table(head, rows), ""]


def _warps(found: list[Record]) -> list[str]:
    if not found:
        return []
    head = (
        "matrix",
        "format",
        "threads at work",
        "counted",
        "bytes used of sectors",
        "sectors loaded",
        "counted",
    )
    rows = [
        [
            f"`{one['matrix']}`",
            f"`{one['form']}`",
            f"{one['lanes']:.0%}",
            f"{one['counted_lanes']:.0%}" if "counted_lanes" in one else "-",
            f"{one['used']:.0%}",
            f"{one['sectors']:,}",
            f"{one['counted_sectors']:,.0f}" if "counted_sectors" in one else "-",
        ]
        for one in found
    ]
    words = (
        "Of a warp's threads, each of which has a row: how many work, and what their loads of "
        "values, columns and x touch; on paper (`analysis/spmv_warps.py`) beside Nsight Compute's "
        "counters, which count all instructions and the loads of offsets too. Matrices have 2^16 "
        "rows."
    )
    return ["#### Divergence and coalescing", "", words, "", *markdown_table(head, rows), ""]
