"""Write docs/learn/devices.md, what machines' memories cost by themselves, from what was measured.

    rooftile devices --measure --json > devices.json
    python benchmarks/devices_page.py devices.json          # takes it into the records, too

The records are ``benchmarks/results/devices-*.json``, one for each CPU or GPU.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from pages import filled, markdown_table, section

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parent.parent / "docs" / "learn" / "devices.md"

Record = dict[str, Any]


def take(printed: Record) -> None:
    """Keep what ``rooftile devices --measure --json`` printed, a record for each device."""
    where = {key: printed["environment"][key] for key in ("time", "system", "load")}
    for device in printed["devices"]:
        if device["kind"] == "opencl" or not device["microbenchmarks"]:
            continue  # OpenCL's are those of the same GPU, without cycles.
        name = device["name"].lower().removeprefix("nvidia ")
        name = re.sub(r"[^a-z0-9]+", "-", name).strip("-") if device["kind"] == "cuda" else "cpu"
        record = {"device": device["name"], "kind": device["kind"], **where}
        record["microbenchmarks"] = device["microbenchmarks"]
        text = json.dumps(record, indent=1) + "\n"
        (RESULTS / f"devices-{name}.json").write_text(text, encoding="utf-8")


def records() -> list[Record]:
    """Every device's record."""
    paths = sorted(RESULTS.glob("devices-*.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def page(text: str, found: list[Record]) -> str:
    """The page with the part between its marks made anew."""
    return filled(text, (line for record in found for line in of_device(record)))


def of_device(record: Record) -> list[str]:
    """A device's latencies, and what of its bandwidth is left by stride."""
    measured = record["microbenchmarks"]
    reads = measured["strided_reads"]
    coalesced = next(one["gbps"] for one in reads if one["stride"] == 1)
    latencies = [
        [one["level"], size(one["footprint_bytes"]), f"{one['ns']:.3g}", number(one["cycles"])]
        for one in measured["latencies"]
    ]
    strides = [
        [str(one["stride"]), f"{one['gbps']:.4g}", f"{one['gbps'] / coalesced:.0%}"]
        for one in reads
    ]
    return section(
        record["device"],
        f"{record['time'][:10]}, {record['system']}.",
        markdown_table(("latency of", "footprint", "ns", "cycles"), latencies),
        f"Every thread reads one of several neighbours of {size(measured['strided_bytes'])}:",
        markdown_table(("stride", "GB/s that are used", "of stride 1"), strides),
    )


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def size(count: int) -> str:
    """Bytes in the largest binary unit that leaves at least one; a dash for none."""
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= factor:
            return f"{count / factor:.4g} {unit}"
    return f"{count} B" if count else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("printed", nargs="*", type=Path, help="what devices --measure --json says")
    for path in parser.parse_args().printed:
        take(json.loads(path.read_text(encoding="utf-8")))
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), records()), encoding="utf-8")


if __name__ == "__main__":
    main()
