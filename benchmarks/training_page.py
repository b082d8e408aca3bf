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
GOALS = {
    ("lenet5", 64): 0.06,
    ("lenet5", 256): 0.10,
    ("lenet5", 1024): 0.25,
    ("lenet5", 8192): 1.6,
    ("mnist8", 64): 0.09,
    ("mnist8", 1024): 0.40,
    ("mnist8", 8192): 1.9,
}
"""Milliseconds of a step at ieee, by network and batch."""
_HEAD = ("network", "batch", "launches", "ours, ms", "PyTorch's graph, ms", "times as fast", "goal")


def table(record: dict[str, Any]) -> list[str]:
    """The lines between the page's marks."""
    cells = []
    for row in record["rows"]:
        ours, theirs = row["ours_ms"], row["torch_ms"]
        goal = GOALS.get((row["network"], row["batch"]))
        cells.append(
            [
                f"`{row['network']}`",
                f"{row['batch']:,}",
                str(row["launches"]),
                f"{ours:.3f}",
                f"{theirs:.3f}",
                f"{theirs / ours:.1f}",
                f"{goal:.2f}" if goal else "-",
            ]
        )
    where = f"{record['device']}, {record['libraries']}, {record['time']}; SGD with momentum, ieee."
    return [where, "", *markdown_table(_HEAD, cells), ""]


def main() -> None:
    """Make the page's table anew."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), table(record)), encoding="utf-8")


if __name__ == "__main__":
    main()
