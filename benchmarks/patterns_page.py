"""Write the measured tables of the patterns' pages from the records of `benchmarks/patterns.py`.

python benchmarks/patterns_page.py

Each page of `patterns_calls.PAGES` has a part between two marks, which is made anew: what calls
take on a GPU and on a CPU beside the best peer, and the GPU's first ladder of each operation.
Every record, goal, ladder and prediction stands in ``benchmarks/results/patterns-<page>.md``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pages import filled, markdown_table
from patterns_calls import PAGES
from patterns_rows import COPY, OURS, READ, Record, best_peer, median, reached
from patterns_sparse_page import sections, told

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parent.parent / "docs" / "learn"
GOALS = {
    "ms": ("at most {:g} ms", "{:.4g} ms"),
    "copy": ("{:.0%} of a copy", "{:.0%}"),
    "peer": ("{:g} x the best peer", "{:.2f} x"),
    "read": ("{:.0%} of a read", "{:.0%}"),
    "floor": ("{:.0%} of the floor", "{:.0%}"),
    "torch eager": ("{:g} x PyTorch", "{:.2f} x"),
    "numpy": ("{:g} x NumPy", "{:.2f} x"),
    "scipy": ("{:g} x SciPy", "{:.2f} x"),
}
"""How a goal is written, and what was reached of it."""
_SHORT_WORDS = (
    "Medians of the public call in ms, in turns with its peers, each verified first; the floor is "
    "what FLOPs and compulsory bytes take at the measured ceilings."
)
_WORDS = (
    "Medians of the public call in ms, in one process with its peers, in turns, each verified "
    "first. The floor is what FLOPs and compulsory bytes take at the measured ceilings; a copy "
    "moves as many bytes."
)
_ELSEWHERE = (
    "`python benchmarks/patterns.py --write` measures again. Every problem, peer, goal and ladder, "
    "with what was predicted of each rung: `benchmarks/results/{}`."
)
_READ_WORDS = " A read brings as many bytes and stores none."


def write() -> None:
    """Every page, from the records that exist."""
    found = records()
    for name in dict.fromkeys(PAGES.values()):
        path = DOCS / f"{name}.md"
        text = path.read_text(encoding="utf-8")
        path.write_text(page(text, name, found), encoding="utf-8")
        whole_path(name).write_text(whole(name, found), encoding="utf-8")


def whole_path(name: str) -> Path:
    """The file beside the records with all that they say of a page's operations."""
    return RESULTS / f"patterns-{name}.md"


def records() -> list[Record]:
    """The GPUs' records, then the CPU's."""
    paths = sorted(
        RESULTS.glob("patterns-*.json"), key=lambda path: ("cpu" in path.stem, path.stem)
    )
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def page(text: str, name: str, found: Sequence[Record]) -> str:
    """A page with the part between its marks made anew."""
    shown = _shown(name, found)
    lines = [line for record in shown for line in short(record, name)]
    if shown:
        lines += [f"{_SHORT_WORDS} {_ELSEWHERE.format(whole_path(name).name)}", ""]
    return filled(text, lines)


def _shown(name: str, found: Sequence[Record]) -> list[Record]:
    """The record of a GPU and the one of a CPU that have most problems of a page's operations."""

    def problems(record: Record) -> int:
        return sum(PAGES.get(row["operation"]) == name for row in record["rows"])

    kinds = [
        [record for record in found if bool(record["environment"].get("device")) == gpu]
        for gpu in (True, False)
    ]
    best = [max(kind, key=problems) for kind in kinds if kind]
    return [record for record in best if problems(record)]


def short(record: Record, name: str) -> list[str]:
    """What a reader of the page needs of a record: calls, and each operation's first ladder."""
    rows = [row for row in record["rows"] if PAGES.get(row["operation"]) == name]
    where = record["environment"]
    device = where.get("device", {})
    days = sorted(row["measured"]["time"][:10] for row in rows)
    lines = [f"### {device.get('name') or where['cpu']}, {days[-1]}", "", *_short_calls(rows), ""]
    firsts: dict[str, Record] = {}
    for row in rows:
        if row["ladder"] and device:
            firsts.setdefault(row["operation"], row)
    for row in firsts.values():
        cells = [_times(row, one)[:4] for one in row["entries"] if _is_rung(one)]
        head = ("rung", "ms", "of the floor", "GB/s")
        lines += [f"The ladder on `{row['key']}`:", "", *markdown_table(head, cells), ""]
    return [*lines, *told(record)] if name == "sparse" else lines


def _is_rung(one: Record) -> bool:
    return one["kind"] == "strategy" and one["name"] != OURS and bool(one["time_ms"])


def _short_calls(rows: list[Record]) -> list[str]:
    cells = []
    for row in rows:
        ours, peer = median(row, OURS), best_peer(row)
        other = float(peer["time_ms"]["median"]) if peer else None
        floor = f"{row['floor_ms'] / ours:.0%}" if ours and row["floor_ms"] else "-"
        times = f"{other / ours:.2f} x {peer['name']}" if other and ours and peer else "-"
        dtype = f" {row['dtype']}" if row["dtype"] != "float32" else ""
        cells.append([f"`{row['key']}`{dtype}", f"`{row['picked']}`", _ms(ours), floor, times])
    return markdown_table(("problem", "picked", "ms", "of the floor", "times as fast as"), cells)


def whole(name: str, found: Sequence[Record]) -> str:
    """All that the records say of a page's operations."""
    head = [
        f"# Measured: {name}",
        "",
        "Generated by `python benchmarks/patterns_page.py` from `patterns-*.json`. "
        f"docs/learn/{name}.md says what the operations and their rungs do.",
        "",
    ]
    parts = (line for record in found for line in of_record(record, name))
    return "\n".join([*head, *parts]).rstrip() + "\n"


def of_record(record: Record, name: str) -> list[str]:
    """What a device's record says of a page's operations; nothing where it has none of them."""
    rows = [row for row in record["rows"] if PAGES.get(row["operation"]) == name]
    if not rows:
        return []
    where = record["environment"]
    device = where.get("device", {})
    installed = ", ".join(f"{key} {version}" for key, version in record["versions"].items())
    driver = device.get("driver") or f"{where['cores']} cores"
    said = [row["measured"] for row in rows]
    days = ", ".join(sorted({one["time"][:10] for one in said}))
    revisions = ", ".join(sorted({str(one["revision"]) for one in said}))
    load = max(one["load"] for one in said)
    words = _WORDS + (_READ_WORDS if any(median(row, READ) for row in rows) else "")
    lines = [
        f"### {device.get('name') or where['cpu']}",
        "",
        f"{days}, revision {revisions}; {driver}, load up to {load:g}; {installed}. {words}",
        "",
        *_calls(rows),
        "",
    ]
    for row in rows:
        if row["ladder"] or row.get("chosen"):
            lines += _ladder(row, gpu=bool(device))
    return [*lines, *sections(record)] if name == "sparse" else lines


def _calls(rows: list[Record]) -> list[str]:
    head = (
        "problem",
        "arrays",
        "picked",
        "ms",
        "of the floor",
        "copy, ms",
        "best peer",
        "ms",
        "times as fast",
        "goal",
        "reached",
    )
    cells = []
    for row in rows:
        ours, peer = median(row, OURS), best_peer(row)
        other = float(peer["time_ms"]["median"]) if peer else None
        goals = [_goal(row, goal) for goal in row["goals"]]
        key, *precision = row["key"].split(", ")
        cells.append(
            [
                f"`{key}`" + "".join(f", `{one}`" for one in precision),
                row["dtype"] if row["dtype"] != "float32" else "",
                f"`{row['picked']}`",
                _ms(ours),
                f"{row['floor_ms'] / ours:.0%}" if ours and row["floor_ms"] else "-",
                _ms(median(row, COPY)),
                str(peer["name"]) if peer else "-",
                _ms(other),
                f"{other / ours:.2f}" if other and ours else "-",
                ", ".join(wanted for wanted, _ in goals),
                ", ".join(told for _, told in goals),
            ]
        )
    return markdown_table(head, cells)


def _goal(row: Record, goal: Record) -> tuple[str, str]:
    wanted, told = GOALS[goal["what"]]
    found = reached(row, goal)
    if found is None:
        return wanted.format(goal["value"]), "no time"
    value, enough = found
    return wanted.format(goal["value"]), f"{told.format(value)}: {'yes' if enough else 'no'}"


def _ladder(row: Record, gpu: bool) -> list[str]:
    """All rungs and peers of a problem; of a GPU's rungs with a model what it predicted."""
    head = ["who", "ms", "of the floor", "GB/s", "GFLOP/s"]
    if gpu:
        head += [
            "bound, ms",
            "set by",
            "bound over time",
            "textbook's bound, ms",
            "multiply-adds a load",
            "bytes used of sectors",
            "divergent warps",
        ]
    rungs = [one for one in row["entries"] if one["kind"] == "strategy" and one["name"] != OURS]
    others = [one for one in row["entries"] if one["kind"] != "strategy"]
    cells = [
        [*_times(row, one), *(_predicted(one) if gpu else ())]
        for one in (*rungs, *others)
        if one["time_ms"]
    ]
    lines = [f"#### The ladder on `{row['key']}`", "", *markdown_table(head, cells), ""]
    notes = [f"- `{one['name']}`: {one['reason']}" for one in rungs if one["reason"]]
    return [*lines, *notes, ""] if notes else lines


def _times(row: Record, one: Record) -> list[str]:
    ms, mine = float(one["time_ms"]["median"]), one["kind"] == "strategy"
    picked = " (picked)" if mine and one["name"] == row["picked"] else ""
    return [
        (f"`{one['name']}`" if mine else one["name"]) + picked,
        f"{ms:.4g}",
        f"{row['floor_ms'] / ms:.0%}" if row["floor_ms"] else "-",
        f"{1e-6 * row['bytes'] / ms:,.0f}",
        f"{1e-6 * row['flops'] / ms:,.0f}" if one["kind"] not in (COPY, READ) else "-",
    ]


def _predicted(one: Record) -> list[str]:
    found = one.get("explained")
    if not found:
        return ["-"] * 7
    bound = found["bound_ms"]
    return [
        _ms(bound),
        found["bound_by"] or "-",
        f"{bound / one['time_ms']['median']:.0%}" if bound else "-",
        _ms(found["uncached_ms"]),
        _number(found["adds_per_load"], ".3g"),
        _number(found["sector_use"], ".0%"),
        _number(found["divergent"], ".2%"),
    ]


def _ms(value: float | None) -> str:
    return _number(value, ".4g")


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


if __name__ == "__main__":
    write()
