"""The sparse page's tables that are no rows of the patterns: the chooser, the solver, warps."""

from __future__ import annotations

import statistics

from pages import markdown_table
from patterns_rows import Record

from rooftile.analysis.spmv import Structure, estimates


def sections(record: Record) -> list[str]:
    """What a record says of them; nothing of what it does not have."""
    parts = (("chooser", _chooser), ("solver", _solver), ("warps", _warps))
    return [line for name, part in parts for line in part(record.get(name) or [])]


def _chooser(found: list[Record]) -> list[str]:
    if not found:
        return []
    head = ("matrix", "entries", "chosen", "predicted, us", "measured", "best", "us", "over best")
    rows, near = [], 0
    for one in found:
        measured = one["measured_us"]
        # What the model says now, of a structure that was measured then.
        predicted = {e.form: 1e3 * e.ms for e in estimates(Structure(**one["structure"]))}
        chosen = next(form for form in predicted if form in measured)
        best = min(measured, key=measured.__getitem__)
        over = measured[chosen] / measured[best]
        near += over <= 1.1
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
            ]
        )
    decided = statistics.median(one["decided_us"] for one in found)
    words = (
        f"Without trying, and in {decided:.0f} us of the host (the median), the chooser takes a "
        f"format within 10 % of the best one on {near} of {len(found)} matrices, from whose times "
        "its rates were taken. Formats that would move over twice the least bytes were not timed. "
        "Times are warm."
    )
    return ["#### The chooser", "", words, "", *markdown_table(head, rows), ""]


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
