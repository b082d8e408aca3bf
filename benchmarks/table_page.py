"""Write the page of the table, ``docs/<gpu>.md``, from the record of `benchmarks/table.py`.

    python benchmarks/table_page.py [benchmarks/results/h200-table.json]

Every measured number is the record's.  What explains limits is written here, without numbers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "benchmarks" / "results" / "h200-table.json"
REPORTED_MS = 0.003
"""What reports of this exercise elsewhere give for the whole stream."""

LIMITS = {
    ("lenet-conv1", "ieee"): "One channel, so each input is used by few maps: the multiply-adds "
    "are the limit, and what else a thread executes to feed them.",
    ("lenet-conv1", "fp16"): "The product is so small that reading the images and writing the "
    "results takes longer; results of half the size are written in half the time.",
    ("lenet-conv2", "ieee"): "Multiply-adds in float32: no matrix instruction keeps its "
    "accuracy at this depth without splitting, which pays from deeper sums on.",
    ("lenet-conv2", "tf32"): "Matrix instructions, and the zeros that folding the pool puts "
    "around each mask ([pool-folding.md](pool-folding.md)).",
    ("lenet-conv2", "fp16"): "As at `tf32`, at twice the rate: fetching patches from shared "
    "memory no longer hides behind the products.",
    ("lenet5", "ieee"): "Its two convolutions, one after the other.",
    ("lenet5", "tf32"): "Its two convolutions; what the first writes the second reads, which the "
    "floor does not count.",
    ("lenet5", "fp16"): "Reading the images once, and what lies between the convolutions, which "
    "the floor does not count.",
    ("lab-conv5", "ieee"): "Three TF32 products for each multiply-add.",
    ("lab-conv5", "tf32"): "The matrix instructions, and the power that they draw.",
    ("lab-conv5", "fp16"): "The matrix instructions, and the power that they draw.",
    ("mnist8", "ieee"): "One image: launching one kernel after another and reading each weight "
    "once, from the cache, where all of them stay. Many: the first linear layer's products.",
    ("mnist8", "tf32"): "The first linear layer: its operands are fetched from memory, where the "
    "convolution has put them.",
    ("mnist8", "fp16"): "What the convolution writes and the first linear layer reads, in 16 bits.",
}  # fmt: skip
"""What sets a row's limit, in words."""

Record = dict[str, Any]


def path_of(record: Path) -> Path:
    """The page of a record: ``h200-table.json`` is that of docs/h200.md."""
    return ROOT / "docs" / f"{record.stem.removesuffix('-table')}.md"


def write(record: Path) -> None:
    text = page(json.loads(record.read_text(encoding="utf-8")), record.name)
    path_of(record).write_text(text, encoding="utf-8")


def timed(row: Record, kind: str) -> list[Record]:
    """The strategies or the peers of a row that have a time, the fastest first."""
    found = [one for one in row["rows"] if one["kind"] == kind and one["time_ms"]]
    return sorted(found, key=lambda one: one["time_ms"]["median"])


def best_ours(row: Record) -> Record | None:
    """The fastest that takes float32, and gives it or what the row admits."""
    return next((one for one in timed(row, "strategy") if _counts(one, row["case"])), None)


def best_peer(row: Record) -> Record | None:
    """The fastest peer."""
    return next(iter(timed(row, "peer")), None)


def _counts(one: Record, case: Record) -> bool:
    config = one["config"]
    allowed = case["narrow_out"] or not config.get("OUT_NARROW")
    return allowed and not config.get("X_NARROW")


def formats(one: Record) -> str:
    """What lies in memory, where it is not float32 on both sides."""
    sides = ["16 bit" if one["config"].get(name) else "float32"
             for name in ("X_NARROW", "OUT_NARROW")]  # fmt: skip
    return "" if sides == ["float32", "float32"] else f" ({sides[0]} to {sides[1]})"


def cells_of(row: Record) -> dict[str, str]:
    """A row of the table, by column; what is not known is empty."""
    case, limit = row["case"], row["floor"]
    ours, peer = best_ours(row), best_peer(row)
    made = {
        "problem": f"`{case['name']}`", "batch": f"{case['batch']:,}",
        "precision": f"`{case['precision']}`", "ours, ms": "no time", "by": "",
        "error, of budget": "", "best peer, ms": "", "which": "", "times as fast": "",
        "floor, ms": f"{limit['ms']:.4g}" if limit else "", "set by": limit["by"] if limit else "",
        "of floor": "", "to reach, ms": f"{case['target_ms']:g}", "reached": "no",
    }  # fmt: skip
    if peer:
        made |= {"best peer, ms": _ms(peer), "which": peer["strategy"].removeprefix("torch ")}
    if ours:
        median = ours["time_ms"]["median"]
        name = "the plan" if case["network"] else f"`{ours['strategy']}`{formats(ours)}"
        made |= {
            "ours, ms": f"**{_ms(ours)}**", "by": name,
            "error, of budget": f"{ours['error']['budget_fraction']:.2g}",
            "reached": "yes" if median <= case["target_ms"] else "no",
        }  # fmt: skip
        made |= {"of floor": f"{limit['ms'] / median:.0%}"} if limit else {}
        made |= {"times as fast": f"{peer['time_ms']['median'] / median:.1f}"} if peer else {}
    return made


def summary(row: Record) -> str:
    """A row of the table as one line for a terminal."""
    told = {key: text for key, text in cells_of(row).items() if text}
    parts = [f"{key} {text}" for key, text in list(told.items())[3:]]
    wrong = [f"{one['strategy']}: {one['status']}, {one['reason'][:200]}" for one in row["rows"]
             if one["status"] in ("failed", "error")]  # fmt: skip
    line = f"{row['key']:24} {', '.join(parts)} ({row['seconds']:.0f} s)"
    ours = best_ours(row)
    if ours and not row["case"]["network"] and ours["strategy"] != row["picked"]:
        wrong.append(f"picked would be {row['picked']}")
    return "\n    ".join([line.replace("*", ""), *wrong])


def _ms(one: Record, key: str = "time_ms") -> str:
    return f"{one[key]['median']:.4g}" if one.get(key) else "-"


def _rows(head: tuple[str, ...], rows: list[list[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    return [*lines, *(f"| {' | '.join(cells)} |" for cells in rows)]


def page(record: Record, name: str) -> str:
    """The documentation page, all of its measured numbers from the record."""
    device, where = record["environment"]["device"], record["environment"]
    libraries = {**device["libraries"], **record["libraries"]}
    lines = [
        "# Faster than cuDNN: the table", "",
        f"Generated by `python benchmarks/table_page.py` from `benchmarks/results/{name}`, which",
        "`python benchmarks/table.py` measures. No measured number here is typed by hand.", "",
        f"{device['name']}, {device['driver']}, Python {where['python']}; "
        + ", ".join(f"{key} {value}" for key, value in libraries.items()) + ".", "",
        *_introduction(), *_table(record["rows"]), *_reading(record),
        *_convolutions(record["rows"]), *_networks(record["rows"]),
        *_stream(record["stream"]), *_accuracy(record["accuracy"]), *_limits(record["rows"]),
        *_reproduce(record),
    ]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


def _introduction() -> list[str]:
    return [
        "## How it was measured", "",
        "- **Against whom**: PyTorch with cuDNN, eager and by `torch.compile` (max-autotune), each",
        "  with channels first and last, at the precision of the row: float32 without TF32, with",
        "  TF32, and modules and inputs in 16 bits. cuDNN searches its algorithms. At `fp16` the",
        "  peers are given their input in 16 bits, converted before the clock starts; we are given",
        "  float32 and convert inside.",
        "- **On what**: random numbers, in the GPU's memory, results left there.",
        "- **Verified first**: results in memory poisoned beforehand, held against a float64",
        "  reference, on images that nobody knew before too; what the timed graph itself has",
        "  computed is judged once more, the whole batch. A convolution's budget is that of",
        "  [architecture.md](architecture.md); a network's is a few roundings of its precision in",
        "  the norm of each image's scores.",
        "- **Timed**: medians by the GPU's clock, replays of captured graphs on everybody's side,",
        "  ours and the peers in turns in one process, on data that may lie in the cache. The",
        "  host's clock must agree, and the measured ceilings must allow it.",
        "- **The floor** is the larger of the fewest bytes (every input and weight read once,",
        "  every result written once, nothing in between) over the measured bandwidth, and the",
        "  FLOPs of the direct method over the measured rate of the precision. float32 accuracy",
        "  comes by FMAs or by three TF32 products, whichever is faster. What fits in the cache",
        "  need not come from memory, and warpgroup instructions pass a rate that was measured",
        "  with those of one warp: then a time may lie below its floor.", "",
    ]  # fmt: skip


def _table(rows: list[Record]) -> list[str]:
    made = [cells_of(row) for row in rows]
    if not made:
        return ["## The table", "", "Not measured yet.", ""]
    return [
        "## The table", "", *_rows(tuple(made[0]), [list(cells.values()) for cells in made]), "",
    ]  # fmt: skip


def _reading(record: Record) -> list[str]:
    """What the table comes to, and under which clocks."""
    rows = [(row, best_ours(row), best_peer(row)) for row in record["rows"]]
    reached = sum(
        bool(ours and ours["time_ms"]["median"] <= row["case"]["target_ms"])
        for row, ours, _ in rows
    )
    ratios = [peer["time_ms"]["median"] / ours["time_ms"]["median"]
              for _, ours, peer in rows if ours and peer]  # fmt: skip
    clocks = [ours["clocks"]["sm_mhz"] for _, ours, _ in rows if ours and ours["clocks"]]
    said = [f"{reached} of {len(rows)} rows reach what they were to reach."]
    if ratios:
        said.append(f"Ours is {min(ratios):.1f} to {max(ratios):.1f} times as fast as the "
                    "fastest peer.")  # fmt: skip
    if clocks:
        said.append(f"While ours ran, the clock was {min(clocks)} to {max(clocks)} MHz.")
    alone = [f"`{row['key']}`" for row, _, _ in rows
             if not any("compile" in one["strategy"] for one in timed(row, "peer"))]  # fmt: skip
    said += [f"Not beside `torch.compile`: {', '.join(alone)}."] if alone else []
    when = sorted({row["measured"]["time"][:10] for row, _, _ in rows})
    what = sorted({str(row["measured"]["revision"]) for row, _, _ in rows})
    said += [f"Measured {', '.join(when)} at revision {', '.join(what)}."] if when else []
    return [" ".join(said), ""] if rows else []


def _convolutions(rows: list[Record]) -> list[str]:
    """Everybody who was timed, row by row."""
    lines = ["## Every contestant", "",
             "Strategies and peers that were timed, fastest first; in brackets what lies in "
             "memory, where it is not float32. Cold: with nothing of the data in the cache.",
             ""]  # fmt: skip
    head = ("row", "who", "ms", "20 % to 80 %", "cold ms", "TFLOP/s", "error, of budget",
            "max. error", "MHz")  # fmt: skip
    cells, notes = [], []
    for row in rows:
        everybody = timed(row, "strategy") + timed(row, "peer")
        everybody.sort(key=lambda one: one["time_ms"]["median"])
        cells += [[f"`{row['key']}`", *_contestant(one)] for one in everybody]
        # Rungs that are slow by nature are skipped: docs/gpu.md has them.
        notes += [
            f"- `{row['key']}`, {one['strategy']}: {one['status']}, {one['reason']}"
            for one in row["rows"]
            if not one["time_ms"] and not one["reason"].startswith("would take")
        ]
    return [*lines, *_rows(head, cells), "", *notes, *([""] if notes else [])] if cells else []


def _contestant(one: Record) -> list[str]:
    time, ours = one["time_ms"], one["kind"] == "strategy"
    return [
        f"`{one['strategy']}`{formats(one)}" if ours else one["strategy"],
        _ms(one), f"{time['p20']:.4g} to {time['p80']:.4g}", _ms(one, "cold_ms"),
        f"{one['gflops'] / 1000:.3g}", f"{one['error']['budget_fraction']:.2g}",
        f"{one['error']['max_abs']:.1e}", str(one["clocks"]["sm_mhz"]) if one["clocks"] else "",
    ]  # fmt: skip


def _networks(rows: list[Record]) -> list[str]:
    """Per network and precision its layers, each by itself."""
    lines = ["## Networks, layer by layer", "",
             "Each layer by itself, on what the one before gives; the whole is one graph and may "
             "be faster than the sum, as results stay in the cache.", ""]  # fmt: skip
    cells = []
    for row in rows:
        ours = best_ours(row)
        if not row["layers_ms"] or not ours:
            continue
        for layer, median in row["layers_ms"].items():
            by = ours["config"].get(layer, "")
            cells.append([f"`{row['key']}`", layer, f"`{by}`" if by else "", f"{median:.4g}"])
        total = sum(row["layers_ms"].values())
        cells.append([f"`{row['key']}`", "sum", "", f"{total:.4g}"])
        cells.append([f"`{row['key']}`", "**whole**", "", f"**{_ms(ours)}**"])
    head = ("row", "layer", "strategy", "ms")
    return [*lines, *_rows(head, cells), ""] if cells else []


def _stream(found: Record | None) -> list[str]:
    lines = ["## From host memory to labels", ""]
    if not found:
        return [*lines, "Not measured yet.", ""]
    best = best_stream(found)
    lines += [
        f"`{found['model']}` at `{found['precision']}`: {found['images']:,} images of uint8 in "
        f"page-locked memory, {found['bytes'] / 1e6:.1f} MB, to labels in host memory "
        f"({found['source']}).", "",
        "Images are cut into segments. While one is computed the next is copied to the GPU, and "
        "the labels of the one before leave it; pixels become numbers on the GPU. So the time is "
        "that of the copy, the computation of the last segment, and what each segment costs by "
        "itself. Times go from before the first copy until the last label has arrived.", "",
        *_rows(("who", "segments", "ms", "host's clock, ms", "copy in alone", "compute alone",
                "copy out alone", "hidden"), _stream_cells(found)), "",
    ]  # fmt: skip
    if best:
        median, peers = best["time_ms"]["median"], timed_peers(found)
        reached = "reached" if median <= found["target_ms"] else "not reached"
        said = [f"Best: {best['segments']} segments, {median:.4g} ms, "
                f"{found['images'] / median / 1000:.2f} million images a second; to reach were "
                f"{found['target_ms']:g} ms: {reached}. The copy alone takes "
                f"{found['floor_ms']:.4g} ms, {found['floor_ms'] / median:.0%} of it."]  # fmt: skip
        if peers:
            longer = peers[0]["time_ms"]["median"] / median
            said.append(f"The fastest peer's stream takes {_ms(peers[0])} ms, "
                        f"{longer:.1f} times as long.")  # fmt: skip
        lines += [" ".join(said), ""]
    shorter = found["floor_ms"] / REPORTED_MS
    return [
        *lines,
        f"Reports of this exercise elsewhere give about {REPORTED_MS:g} ms for it. The bytes alone "
        f"take {shorter:,.0f} times as long to arrive. What such a time measures is how long the "
        "host takes to hand a launch over: launches and asynchronous copies return at once, and a "
        "clock that is stopped before the work is waited for has seen a launch, not a result. Here "
        "the host's clock, which waits for the labels, stands beside the GPU's, and a row in which "
        "they contradict each other has no time.", "",
    ]  # fmt: skip


def best_stream(found: Record) -> Record | None:
    """The fastest number of segments whose labels were right."""
    rows = [row for row in found["rows"] if row["time_ms"] and not row["wrong_labels"]]
    return min(rows, key=lambda row: row["time_ms"]["median"], default=None)


def timed_peers(found: Record) -> list[Record]:
    rows = [row for row in found["peers"] if row.get("time_ms")]
    return sorted(rows, key=lambda row: row["time_ms"]["median"])


def _stream_cells(found: Record) -> list[list[str]]:
    cells = []
    for row in found["rows"]:
        time = _ms(row) if row["time_ms"] else row["contradiction"]
        time = f"{row['wrong_labels']} wrong labels" if row["wrong_labels"] else time
        parts = (row[key] for key in ("copy_in_ms", "compute_ms", "copy_out_ms"))
        hidden = "" if row["hidden"] is None else f"{row['hidden']:.0%}"
        cells.append(["ours", str(row["segments"]), time, _ms(row, "host_ms"),
                      *(f"{part:.4g}" for part in parts), hidden])  # fmt: skip
    for row in found["peers"]:
        time = _ms(row) if row.get("time_ms") else f"{row['status']} {row.get('reason', '')}"
        cells.append([row["name"], str(row["segments"]), time, _ms(row, "host_ms"), *[""] * 4])
    return cells


def _accuracy(found: Record | None) -> list[str]:
    lines = ["## Accuracy", ""]
    if not found:
        return [*lines, "Not measured yet.", ""]
    cells = [
        [f"`{row['model']}`", row["device"], f"`{row['precision']}`",
         f"{100 * row['accuracy']:.2f} %", str(row["differ"])]
        for row in found["rows"]
    ]  # fmt: skip
    head = ("network", "device", "precision", "right", "labels other than the CPU's at `ieee`")
    return [
        *lines, f"{found['images']:,} images, {found['source']}.", "", *_rows(head, cells), "",
    ]  # fmt: skip


def _limits(rows: list[Record]) -> list[str]:
    """What limits each row, in words, with its shares from the record."""
    lines = []
    for row in rows:
        ours, case = best_ours(row), row["case"]
        words = LIMITS.get((case["name"], case["precision"]))
        if ours and words and row["floor"]:
            share = row["floor"]["ms"] / ours["time_ms"]["median"]
            lines.append(f"- `{row['key']}`, {share:.0%} of a floor set by "
                         f"{row['floor']['by']}: {words}")  # fmt: skip
    return ["## What limits each row", "", *lines, ""] if lines else []


def _reproduce(record: Record) -> list[str]:
    architecture = record["environment"]["device"]["architecture"]
    return [
        "## Reproduce it", "",
        "```sh", "make bench-gpu   # an environment with PyTorch, every row, and this page", "```",
        "",
        "or, where the packages are there already, `python benchmarks/table.py --page`; `--only "
        "lenet5 mnist8@1:ieee` measures some rows into the same record, `--peers eager` leaves out "
        "`torch.compile`, which takes most of the time. Any CUDA GPU will do: rungs for "
        f"`{architecture}` alone give way to others there.", "",
    ]  # fmt: skip


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else RECORD)
