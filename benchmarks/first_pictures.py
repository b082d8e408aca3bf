"""Draw the README's pictures from a record: the table of a climb, and the top of its report.

    python benchmarks/first_pictures.py

``docs/first-climb.svg`` is what ``rooftile climb`` printed, ``docs/first-report.png`` what
``rooftile report`` made of it, as Chromium shows it.  The record is what
``rooftile climb conv2d --shape lenet-conv1 --batch 100 --peers --json`` printed.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.terminal_theme import MONOKAI

from rooftile.cli.render.ladder import rows_table
from rooftile.lab.measure.records import row_from
from rooftile.lab.show.report import page, read_files

RECORD = Path(__file__).parent / "results" / "cpu-lenet-conv1.json"
DOCS = Path(__file__).parent.parent / "docs"
CLIMB, REPORT = DOCS / "first-climb.svg", DOCS / "first-report.png"
COMMAND = "$ rooftile climb conv2d --shape lenet-conv1 --batch 100 --peers"
_WIDTH, _REPORT_SIZE = 80, "1000,1235"
_COLOURS = 48
"""Of the photograph: enough for text and marks, in a small file."""
_FRAME = """<svg xmlns="http://www.w3.org/2000/svg"
  viewBox="0 0 {terminal_width} {terminal_height}">
<style>
text {{ font-family: monospace; font-size: {char_height}px; white-space: pre }}
{styles}
</style>
<defs>{lines}</defs>
<rect width="100%" height="100%" rx="8" fill="#292929"/>
<g transform="translate(9, 9)">{backgrounds}<g>{matrix}</g></g>
</svg>
"""
"""Rich's picture of a terminal, less the window's frame and fonts from elsewhere."""


def climb_picture() -> str:
    """The table of the rungs and the peers that have a time."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    rows = [row_from(row) for row in record["rows"]]
    console = Console(
        record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, highlight=False
    )
    environment = record["environment"]
    console.print(COMMAND, markup=False)
    console.print()
    console.print(rows_table(tuple(row for row in rows if row.time_ms), unicode=True))
    console.print()
    console.print(f"{environment['cpu']}, {environment['cores']} cores\n", markup=False)
    return console.export_svg(theme=MONOKAI, code_format=_FRAME, unique_id="climb")


def photograph(path: Path) -> None:
    """The report of the record in Chromium, without a window."""
    browser = shutil.which("chromium")
    if browser is None:
        raise SystemExit("chromium is missing: it draws the report (Debian: chromium)")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        report.write_text(page(read_files([RECORD])), encoding="utf-8")
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        flags = ["--headless", "--disable-gpu", "--hide-scrollbars", *sandbox]
        sizes = [f"--window-size={_REPORT_SIZE}", f"--screenshot={path}"]
        subprocess.run([browser, *flags, *sizes, report.as_uri()], check=True, capture_output=True)
    with Image.open(path) as photograph:
        photograph.convert("RGB").quantize(_COLOURS).save(path, optimize=True)


if __name__ == "__main__":
    CLIMB.write_text(climb_picture(), encoding="utf-8")
    photograph(REPORT)
