"""Run the published experiments, and keep their records.

    python benchmarks/reproduced.py RECORD.json [--device cpu] [--quick] [--only ID ...]

writes every experiment that the device runs into ``benchmarks/results/RECORD.json``, or into the
path where one is given.  Each runs in a process of its own and within its limit, so that one that
fails takes none of the others with it, and its record is written as soon as it is done; records of
experiments that are not run again stay.  `benchmarks/reproduced_page.py` makes
papers/docs/reproduced.md of all records.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rooftile.devices.select import parse_device
from rooftile_papers.reproduce.catalogue import EXPERIMENTS, judged

RESULTS = Path(__file__).parent / "results"
Record = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", metavar="ID", help="these, in this order")
    parser.add_argument("--limit", type=float, default=600, help="seconds of each experiment")
    parser.add_argument("--judge", action="store_true", help="judge what the file holds anew")
    given = parser.parse_args()
    path = given.record if given.record.parent.name else RESULTS / given.record
    if given.judge:
        write(path, [{**one, "verdicts": judged(one)} for one in kept(path)])
        return
    kind = parse_device(given.device)[0]
    for name in given.only or [one.name for one in EXPERIMENTS.values() if kind in one.needs]:
        record = run(name, given.device, quick=given.quick, limit=given.limit)
        if record is not None:
            write(path, with_record(path, record))
            wrong = [check["name"] for check in record["checks"] if not check["passed"]]
            spent = f"{record['seconds']} s, {record['processor_seconds']} of processors"
            print(name, spent, *wrong, flush=True)


def run(name: str, device: str, *, quick: bool, limit: float) -> Record | None:
    """An experiment's record, with the seconds that it took and those of processors, which other
    programs do not change; None where it did not end."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "record.json"
        command = [sys.executable, "-m", "rooftile", "reproduce", name, "--device", device]
        command += ["--record", str(made), *(["--quick"] if quick else [])]
        began, before = time.perf_counter(), _processors()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
            said = done.stderr
        except subprocess.TimeoutExpired:
            said = f"it did not end within {limit:g} s"
        seconds = round(time.perf_counter() - began, 1)
        if not made.exists():
            print(name, "has no record:", said.strip()[-2000:], flush=True)
            return None
        (record,) = kept(made)
    spent = round(_processors() - before, 1)
    return {**record, "seconds": seconds, "processor_seconds": spent}


def _processors() -> float:
    """Seconds of processors that processes of ours have taken, once they are over."""
    times = os.times()
    return times.children_user + times.children_system


def with_record(path: Path, record: Record) -> list[Record]:
    """A file's records with this one in place of an older one, in the catalogue's order."""
    records = {one["experiment"]: one for one in [*kept(path), record]}
    return [records[name] for name in EXPERIMENTS if name in records]


def kept(path: Path) -> list[Record]:
    """A file's records; none where there is no file yet."""
    if not path.exists():
        return []
    records: list[Record] = json.loads(path.read_text(encoding="utf-8"))["records"]
    return records


def write(path: Path, records: list[Record]) -> None:
    """Keep the records."""
    path.write_text(json.dumps({"records": records}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
