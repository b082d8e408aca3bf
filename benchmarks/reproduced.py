"""Run the published experiments, and keep their records.

    python benchmarks/reproduced.py RECORD.json [--device cpu] [--quick]

writes every experiment that the device runs into ``benchmarks/results/RECORD.json``, or into the
path where one is given; what other devices have measured stays in other records, and
`benchmarks/reproduced_page.py` makes docs/reproduced.md of all of them.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from pathlib import Path
from typing import Any

from rooftile.lab.reproduce.catalogue import EXPERIMENTS, record, runs_on, setting

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    path = given.record if given.record.parent.name else RESULTS / given.record
    place = setting(given.device, quick=given.quick)
    records: list[dict[str, Any]] = []
    for one in EXPERIMENTS.values():
        if not runs_on(one, place):
            continue
        began = time.perf_counter()
        try:
            records.append(record(one, place))
        except Exception:
            # The others are worth their record; this one says what went wrong.
            traceback.print_exc()
            continue
        records[-1]["seconds"] = round(time.perf_counter() - began, 1)
        wrong = [check["name"] for check in records[-1]["checks"] if not check["passed"]]
        print(one.name, records[-1]["seconds"], "s", *wrong, flush=True)
        # Written after each, so that what is done stays.
        path.write_text(json.dumps({"records": records}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
