"""Write the tables of docs/do/training.md and of benchmarks/results/training.md from records.

    python benchmarks/training_page.py

`benchmarks/training_steps.py` and `benchmarks/training_cpu.py` write the records of steps, and
`GOALS` and `CPU_GOALS` are what these are to reach; `benchmarks/whole_training.py` writes those of
whole trainings.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pages import filled, markdown_table

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
RECORD = RESULTS / "training-h100.json"
BEFORE = RESULTS / "training-h200.json"
"""Of the GPU that the goals are for; it has not been there since."""
CPU = "training-cpu"
"""How the names of the records of CPUs begin, of which each has one."""
TRAINED = {kind: RESULTS / f"whole-training-{kind}.json" for kind in ("cpu", "cuda")}
PAGE = ROOT / "docs" / "do" / "training.md"
WHOLE = RESULTS / "training.md"
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
LARGE, LEAST_US = ("lenet5", 8192), 10
"""The step whose launches are told, and of which."""
CPU_GOALS = {("lenet5", 64): 4.0, ("lenet5", 256): 4.0, ("mnist8", 64): 1.2}
"""How many times as fast as PyTorch, eager and compiled, a step on the CPU is to be."""
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


def short_table(record: dict[str, Any]) -> list[str]:
    """The smallest and the largest batch at the precisions that have goals."""
    batches = sorted({row["batch"] for row in record["rows"]})
    shown = [
        row
        for row in record["rows"]
        if row["batch"] in (batches[0], batches[-1]) and row["precision"] in PRECISIONS
    ]
    head, cells = _HEAD[:3] + _HEAD[4:7], []
    for row in table({**record, "rows": shown})[4:-1]:
        columns = [cell.strip() for cell in row.strip("|").split("|")]
        cells.append(columns[:3] + columns[4:7])
    where = f"{record['device']}, {record['libraries']}; SGD with momentum."
    where += f" Every row: `benchmarks/results/{WHOLE.name}`."
    return [where, "", *markdown_table(head, cells), ""]


def launches(record: dict[str, Any]) -> list[str]:
    """The lines on what a large step's launches take, and what their FLOPs and bytes allow."""
    cells = []
    for row in record["rows"]:
        if (row["network"], row["batch"]) != LARGE or row["precision"] not in PRECISIONS:
            continue
        for part in row.get("parts", ()):
            us, floor = part["us"], part.get("floor_us")
            if us < LEAST_US:
                continue
            over = (f"{floor:.0f}", f"{us / floor:.1f}x") if floor else ("-", "-")
            words = row["precision"], f"`{part['layer']}`" if part["layer"] else "-"
            cells.append([*words, f"`{part['name']}`", f"{us:.0f}", *over])
    if not cells:
        return [""]
    where = f"{record['device']}: launches of a step of `{LARGE[0]}` with {LARGE[1]:,} images that"
    where += f" take {LEAST_US} us or more, each alone in a graph. The floor is the larger of FLOPs"
    where += " of the direct method, of winners alone in gradients, over the precision's measured"
    where += " rate, and compulsory bytes of arrays as they lie over the measured bandwidth of"
    where += " memory: what stays in the L2 cache from launch to launch, as of `linear1`, can take"
    where += f" less. {record.get('note', '')}".rstrip()
    head = ("precision", "layer", "launch", "us", "floor, us", "over it")
    return [where, "", *markdown_table(head, cells), ""]


def trained(record: dict[str, Any]) -> list[str]:
    """The lines on whole trainings: how each was made, and what it came to."""
    about = record["environment"]
    where = record.get("gpu") or f"{about['cpu']}, one core of a machine that others used"
    lines = [f"{about['time'][:10]}, {where}:", ""]
    for row in record["rows"]:
        right, last = row["accuracy"]["10000"], row["killed_in_epoch"]
        same = "the same bits" if row["same_bits"] else "other bits"
        taken = f"{row['processor_seconds']:,.0f} s of a processor"
        if "gpu" in record:
            taken = f"{row['seconds']:.1f} s, everything included"
            if again := row.get("seconds_again"):
                taken += f" ({again:.1f} s once its kernels are kept)"
        line = f"- `{row['command']}`: {100 * right:.2f} % of the 10,000 test images after {taken};"
        lines.append(f"{line} killed in epoch {last} and resumed, it ended with {same}.")
        if peer := row.get("torch"):
            lines[-1] += f" PyTorch {peer['torch']}: {100 * peer['accuracy']:.2f} % after"
            lines[-1] += f" {peer['seconds']:.1f} s, {peer['seconds'] / row['seconds']:.1f} times."
    return [*lines, ""]


def epochs(record: dict[str, Any]) -> list[str]:
    """What the epochs of whole trainings came to."""
    cells = [
        [
            f"`{row['model']}`",
            str(one["epoch"]),
            f"{one['loss']:.4f}",
            f"{100 * one['accuracy']:.2f} %" if one["accuracy"] is not None else "-",
        ]
        for row in record["rows"]
        for one in row["epochs"]
    ]
    head = ("network", "epoch", "loss, nats", "right of 10,000 test images")
    return [*trained(record), *markdown_table(head, cells), ""]


def on_the_cpu(record: dict[str, Any]) -> list[str]:
    """The lines on steps on the CPU, each the shortest of its turns."""
    about, cells = record["environment"], []
    for row in record["rows"]:
        ours, *theirs = (row[f"{who}_ms"]["min"] for who in ("ours", "eager", "compiled"))
        goal = CPU_GOALS[row["network"], row["batch"]]
        times = [f"{t:.2f}" for t in (ours, *theirs)]
        ratios = [f"{t / ours:.2f}" for t in theirs]
        cells.append([f"`{row['network']}`", str(row["batch"]), *times, *ratios, f"{goal:g}"])
    where = f"{about['cpu']}, {about['cores']} cores, load {about['load']:.1f}, PyTorch"
    where += f" {about['torch']}, {about['time'][:10]}: the shortest of steps in turns."
    head = ("network", "batch", "ours, ms", "eager, ms", "compiled, ms", "times as fast as eager")
    return [where, "", *markdown_table((*head, "as compiled", "goal"), cells), ""]


def keep(path: Path, record: dict[str, Any]) -> None:
    """Keep a record, and make the page anew."""
    text = json.dumps(record, indent=1)
    path.write_text(f"{text}\n", encoding="utf-8")
    main()


PARTS = (
    (RECORD.name, short_table, "measured"),
    (f"{CPU}-*.json", on_the_cpu, "on the CPU"),
    (TRAINED["cpu"].name, trained, "trained"),
    (TRAINED["cuda"].name, trained, "trained on a GPU"),
)
"""The names of the records that the page's parts are made of, by whom, and the parts' names; a part
without a record is empty."""
ALL = (
    ("Steps", RECORD.name, table),
    ("Steps on the GPU that the goals are for, measured before that", BEFORE.name, table),
    ("What a large step's launches take", RECORD.name, launches),
    ("Steps on CPUs", f"{CPU}-*.json", on_the_cpu),
    ("Whole trainings on a CPU", TRAINED["cpu"].name, epochs),
    ("Whole trainings on a GPU", TRAINED["cuda"].name, epochs),
)
"""The sections of the file beside the records."""


def whole() -> str:
    """The file beside the records: every row, launch and epoch."""
    lines = ["# Measured: training", ""]
    for title, records, made in ALL:
        lines += [f"## {title}", "", *part(records, made)]
    return "\n".join(lines).rstrip() + "\n"


def part(records: str, lines: Callable[[dict[str, Any]], list[str]]) -> list[str]:
    """A part's lines, record by record."""
    paths = sorted(RESULTS.glob(records))
    return [line for path in paths for line in lines(json.loads(path.read_text(encoding="utf-8")))]


def main() -> None:
    """Make the page's tables anew."""
    text = PAGE.read_text(encoding="utf-8")
    for records, lines, name in PARTS:
        text = filled(text, part(records, lines), name)
    PAGE.write_text(text, encoding="utf-8")
    WHOLE.write_text(whole(), encoding="utf-8")


if __name__ == "__main__":
    main()
