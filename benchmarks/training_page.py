"""Write the table of training steps on a GPU into docs/training.md, from its record.

    python benchmarks/training_page.py

The record is what `benchmarks/training_steps.py` writes; `GOALS` are what the steps are to reach.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pages import filled, markdown_table

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "benchmarks" / "results" / "training-h200.json"
PAGE = ROOT / "docs" / "training.md"
PRECISIONS = ("ieee", "tf32", "bf16")
GOALS = {
    ("lenet5", 64): (0.06, 0.05, 0.04),
    ("lenet5", 256): (0.10, 0.07, 0.06),
    ("lenet5", 1024): (0.25, 0.18, 0.14),
    ("lenet5", 8192): (1.6, 1.1, 0.8),
    ("mnist8", 64): (0.09, 0.08, 0.08),
    ("mnist8", 1024): (0.40, 0.25, 0.20),
    ("mnist8", 8192): (1.9, 1.0, 0.8),
}
"""Milliseconds of a step, by network and batch, at each of `PRECISIONS`."""
_HEAD = (
    "network",
    "batch",
    "precision",
    "launches",
    "ours, ms",
    "PyTorch's graph, ms",
    "times as fast",
    "goal",
    "measured",
)


def table(record: dict[str, Any]) -> list[str]:
    """The lines between the page's marks."""
    cells = []
    for row in record["rows"]:
        ours, theirs = row["ours_ms"], row.get("torch_ms")
        precision = row["precision"]
        goals = dict(zip(PRECISIONS, GOALS.get((row["network"], row["batch"]), ()), strict=False))
        goal = goals.get(precision)
        cells.append(
            [
                f"`{row['network']}`",
                f"{row['batch']:,}",
                precision,
                str(row["launches"]),
                f"{ours:.3f}",
                f"{theirs:.3f}" if theirs else "-",
                f"{theirs / ours:.1f}" if theirs else "-",
                f"{goal:.2f}" if goal else "-",
                row.get("time", record["time"]),
            ]
        )
    where = f"{record['device']}, {record['libraries']}; SGD with momentum. PyTorch's times are of"
    where += " the same process; where none stands, it was not timed beside that row."
    return [where, "", *markdown_table(_HEAD, cells), ""]


def main() -> None:
    """Make the page's table anew."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), table(record)), encoding="utf-8")


if __name__ == "__main__":
    main()
