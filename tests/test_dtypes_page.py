"""The page of dtypes: its table is what problems and strategies take.

``python tests/test_dtypes_page.py`` writes the table anew.
"""

from __future__ import annotations

from pathlib import Path

from rooftile.errors import InputError
from rooftile.ops import Problem
from rooftile.ops.patterns.argreduce import Argreduce
from rooftile.ops.patterns.compact import Compact
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.ops.patterns.histogram import EDGES, Histogram
from rooftile.ops.patterns.partition import Partition
from rooftile.ops.patterns.permute_columns import PermuteColumns
from rooftile.ops.patterns.reduce import Reduce
from rooftile.ops.patterns.rotate import Rotate
from rooftile.ops.patterns.scan import Scan
from rooftile.ops.patterns.scatter import Scatter
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce
from rooftile.ops.patterns.segmented_scan import SegmentedScan
from rooftile.ops.patterns.sort import Sort
from rooftile.ops.patterns.transpose import Transpose
from rooftile.ops.patterns.unique import Unique
from rooftile.ops.problem import DTYPES, Dtype
from rooftile.strategies import ladder

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "dtypes.md"
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->\n"
FUNCTIONS = {
    "`add`": lambda d: Elementwise("add", (9,), d),
    "`axpy`, `scale`": lambda d: Elementwise("axpy", (9,), d),
    "`reduce`": lambda d: Reduce((9,), None, d),
    "`argreduce`": lambda d: Argreduce((9,), None, d),
    "`segmented_reduce`": lambda d: SegmentedReduce(9, 2, d),
    "`scan`": lambda d: Scan((9,), -1, d),
    "`segmented_scan`": lambda d: SegmentedScan(9, 2, d),
    "`sort`": lambda d: Sort((9,), -1, d),
    "`argsort`": lambda d: Sort((9,), -1, d, "places"),
    "`sort_pairs`, x": lambda d: Sort((9,), -1, d, "pairs"),
    "`sort_pairs`, with_it": lambda d: Sort((9,), gives="pairs", moves=d),
    "`unique`": lambda d: Unique(9, d, runs=True),
    "`partition`": lambda d: Partition(9, d),
    "`compact`": lambda d: Compact(9, d),
    "`histogram`": lambda d: Histogram(9, 2, 0.0, 2.0, d),
    "`scatter`": lambda d: Scatter(9, 3, "add", d),
    "`transpose`": lambda d: Transpose((3, 3), (), d),
    "`rotate`": lambda d: Rotate((3, 3), 1, d),
    "`permute_columns`": lambda d: PermuteColumns(3, 3, 3, d),
}
"""A problem of each function for a dtype."""


def where(make, dtype: Dtype) -> str:
    """On which kinds of device a function takes a dtype."""
    try:
        problem: Problem = make(dtype)
    except InputError:
        return "-"
    taken = {
        kind: any(rung.why_not(problem) is None for rung in ladder(problem.operation, kind))
        for kind in ("cpu", "cuda", "opencl")
    }
    return {3: "CPU, GPU", 1: "CPU"}[sum(taken.values())]


def table() -> str:
    """The table as the page has it: dtypes that are taken in the same places stand together."""
    lines = ["| function | CPU and GPU | CPU alone | refused |", "| --- | --- | --- | --- |"]
    for name, make in FUNCTIONS.items():
        found = {dtype: where(make, dtype) for dtype in DTYPES}
        cells = []
        for kind in ("CPU, GPU", "CPU", "-"):
            held = [dtype for dtype in DTYPES if found[dtype] == kind]
            cells.append("all" if len(held) == len(DTYPES) else ", ".join(held) or "-")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def test_the_table_is_what_is_taken():
    assert PAGE.read_text().partition(BEGIN)[2].partition(END)[0] == table()


def test_the_page_names_the_dtypes_of_edges():
    rows = [line.split("|")[1:3] for line in PAGE.read_text().splitlines() if line.startswith("|")]
    told = {
        dtype: tuple(edges.strip().split(", ")) for names, edges in rows
        for dtype in names.strip().split(", ") if dtype in DTYPES
    }  # fmt: skip
    assert told == EDGES


if __name__ == "__main__":
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.partition(END)[2])
