"""What the record of `benchmarks/table.py` says of a row: who has a time, who is fastest."""

from __future__ import annotations

from typing import Any

Record = dict[str, Any]


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
    return not _is_narrow(one, "x") and (case["narrow_out"] or not _is_narrow(one, "out"))


def _is_narrow(one: Record, name: str) -> bool:
    """Whether an array had 16 bits; older records say it in the config."""
    return name in one.get("stored", {}) or bool(one["config"].get(f"{name.upper()}_NARROW"))


def formats(one: Record) -> str:
    """What lies in memory, where it is not float32 on both sides."""
    sides = ["16 bit" if _is_narrow(one, name) else "float32" for name in ("x", "out")]
    return "" if sides == ["float32", "float32"] else f" ({sides[0]} to {sides[1]})"


def cells_of(row: Record) -> dict[str, str]:
    """A row of the table, by column; what is not known is empty."""
    case, limit = row["case"], row["floor"]
    ours, peer = best_ours(row), best_peer(row)
    made = {
        "problem": f"`{case['name']}`",
        "batch": f"{case['batch']:,}",
        "precision": f"`{case['precision']}`",
        "ours, ms": "no time",
        "by": "",
        "error, of budget": "",
        "best peer, ms": "",
        "which": "",
        "times as fast": "",
        "floor, ms": f"{limit['ms']:.4g}" if limit else "",
        "set by": limit["by"] if limit else "",
        "of floor": "",
        "to reach, ms": f"{case['target_ms']:g}",
        "reached": "no",
    }
    if peer:
        made |= {"best peer, ms": ms(peer), "which": peer["strategy"].removeprefix("torch ")}
    if ours:
        median = ours["time_ms"]["median"]
        name = "the plan" if case["network"] else f"`{ours['strategy']}`{formats(ours)}"
        made |= {
            "ours, ms": f"**{ms(ours)}**",
            "by": name,
            "error, of budget": f"{ours['error']['budget_fraction']:.2g}",
            "reached": "yes" if median <= case["target_ms"] else "no",
        }
        made |= {"of floor": f"{limit['ms'] / median:.0%}"} if limit else {}
        made |= {"times as fast": f"{peer['time_ms']['median'] / median:.1f}"} if peer else {}
    return made


def summary(row: Record) -> str:
    """A row of the table as one line for a terminal."""
    told = {key: text for key, text in cells_of(row).items() if text}
    parts = [f"{key} {text}" for key, text in list(told.items())[3:]]
    wrong = [
        f"{one['strategy']}: {one['status']}, {one['reason'][:200]}"
        for one in row["rows"]
        if one["status"] in ("failed", "error")
    ]
    line = f"{row['key']:24} {', '.join(parts)} ({row['seconds']:.0f} s)"
    ours = best_ours(row)
    if ours and not row["case"]["network"] and ours["strategy"] != row["picked"]:
        wrong.append(f"picked would be {row['picked']}")
    return "\n    ".join([line.replace("*", ""), *wrong])


def ms(one: Record, key: str = "time_ms") -> str:
    """A median, or a dash without one."""
    return f"{one[key]['median']:.4g}" if one.get(key) else "-"
