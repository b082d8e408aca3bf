"""The section of the table's page on images that stream from host memory to labels."""

from __future__ import annotations

from pages import markdown_table, section
from table_rows import Record, ms
from table_words import ELSEWHERE, ELSEWHERE_MS, STREAM

_HEAD = ("who", "segments", "ms", "host's clock, ms")
_PARTS = ("copy in alone", "compute alone", "copy out alone", "hidden")


def streams(found: Record) -> list[str]:
    """Every number of segments, ours and the peers'; the best, and what others report."""
    what = (
        f"`{found['model']}` at `{found['precision']}`: {found['images']:,} images of uint8 in "
        f"page-locked memory, {found['bytes'] / 1e6:.1f} MB, to labels in host memory "
        f"({found['source']})."
    )
    table = markdown_table((*_HEAD, *_PARTS), _cells(found))
    best = best_stream(found)
    reached = [_best(found, best)] if best else []
    elsewhere = ELSEWHERE.format(times=found["floor_ms"] / ELSEWHERE_MS)
    return section("From host memory to labels", what, STREAM, table, *reached, elsewhere)


def _best(found: Record, best: Record) -> str:
    median, floor, peers = best["time_ms"]["median"], found["floor_ms"], timed_peers(found)
    reached = "reached" if median <= found["target_ms"] else "not reached"
    said = (
        f"Best: {best['segments']} segments, {median:.4g} ms, "
        f"{found['images'] / median / 1000:.2f} million images a second; to reach were "
        f"{found['target_ms']:g} ms: {reached}. The copy alone takes {floor:.4g} ms, "
        f"{floor / median:.0%} of it."
    )
    if peers:
        longer = peers[0]["time_ms"]["median"] / median
        said += f" The fastest peer's stream takes {ms(peers[0])} ms, {longer:.1f} times as long."
    return said


def best_stream(found: Record) -> Record | None:
    """The fastest number of segments whose labels were right."""
    rows = [row for row in found["rows"] if row["time_ms"] and not row["wrong_labels"]]
    return min(rows, key=lambda row: row["time_ms"]["median"], default=None)


def timed_peers(found: Record) -> list[Record]:
    """The peers' streams that have a time, the fastest first."""
    rows = [row for row in found["peers"] if row.get("time_ms")]
    return sorted(rows, key=lambda row: row["time_ms"]["median"])


def _cells(found: Record) -> list[list[str]]:
    cells = []
    for row in found["rows"]:
        time = ms(row) if row["time_ms"] else row["contradiction"]
        time = f"{row['wrong_labels']} wrong labels" if row["wrong_labels"] else time
        parts = [f"{row[key]:.4g}" for key in ("copy_in_ms", "compute_ms", "copy_out_ms")]
        hidden = "" if row["hidden"] is None else f"{row['hidden']:.0%}"
        cells.append(["ours", str(row["segments"]), time, ms(row, "host_ms"), *parts, hidden])
    for row in found["peers"]:
        time = ms(row) if row.get("time_ms") else f"{row['status']} {row.get('reason', '')}"
        empty = [""] * len(_PARTS)
        cells.append([row["name"], str(row["segments"]), time, ms(row, "host_ms"), *empty])
    return cells
