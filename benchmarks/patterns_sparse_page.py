"""The tables of the sparse page that are no rows of the patterns: the chooser and the solver."""

from __future__ import annotations

from pages import markdown_table
from patterns_rows import Record


def sections(record: Record) -> list[str]:
    """What a record says of both; nothing where it has neither."""
    return [*_chooser(record.get("chooser") or []), *_solver(record.get("solver") or [])]


def _chooser(found: list[Record]) -> list[str]:
    if not found:
        return []
    head = ("matrix", "entries", "chosen", "predicted, us", "measured", "best", "us", "over best")
    rows = []
    for one in found:
        chosen, best = one["chosen"], one["best"]
        predicted, measured = one["predicted_us"], one["measured_us"]
        rows.append(
            [
                one["matrix"],
                f"{one['entries']:,}",
                f"`{chosen}`",
                f"{predicted[chosen]:.1f}",
                f"{measured[chosen]:.1f}",
                f"`{best}`",
                f"{measured[best]:.1f}",
                f"{one['over_best']:.2f}",
            ]
        )
    near = sum(one["over_best"] <= 1.1 for one in found)
    words = (
        f"Without trying, the chooser takes a format within 10 % of the best one on {near} of "
        f"{len(found)} matrices. Formats that would move over twice the least bytes were not "
        "timed. Times are warm."
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
