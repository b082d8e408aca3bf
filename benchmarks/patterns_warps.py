"""Divergence and coalescing of sparse formats: the walk of warps on paper, beside counters.

    python benchmarks/patterns_warps.py [--write]

It runs itself under Nsight Compute (``ncu``), once for each matrix, and keeps what it finds in the
record of the patterns on this GPU.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from patterns_page import RESULTS
from patterns_rows import Record

import rooftile
from rooftile.analysis.spmv_warps import Walked, walk
from rooftile.devices.select import describe_gpu
from rooftile.errors import InputError
from rooftile.lab.show.explain.counters import LANES, LOAD_SECTORS, parse
from rooftile.lab.show.explain.profile import ncu
from rooftile.ops import named
from rooftile.ops.sparse.rows import ARRAYS

RUNGS: dict[Walked, str] = {"csr": "csr_threads", "ell": "ell", "jds": "jds", "jds_t": "jds_t"}
"""A thread a row, in each format."""
MATRICES = ("random-small", "power-small", "banded-small")


def matrix_of(name: str) -> rooftile.Sparse:
    """A matrix of 2^16 rows."""
    problem: Any = named("spmv", f"{name}-csr")
    arrays = dict(zip(ARRAYS["csr"], problem.random(0), strict=False))
    return rooftile.Sparse((problem.rows, problem.columns), "csr", arrays, problem.entries)


def in_each(matrix: rooftile.Sparse) -> dict[Walked, rooftile.Sparse]:
    """The matrix in the formats that can hold it."""
    found: dict[Walked, rooftile.Sparse] = {}
    for form in RUNGS:
        try:
            found[form] = matrix.to(form)
        except InputError:
            continue
    return found


def launch(name: str) -> None:
    """A product in each format, for ``ncu``."""
    matrix = matrix_of(name)
    x = np.ones(matrix.shape[1], np.float32)
    for form, held in in_each(matrix).items():
        rooftile.spmv(held, x, strategy=RUNGS[form], device="cuda")


def counted(name: str) -> dict[str, Mapping[str, float]]:
    """What a GPU counts of a matrix, by kernel."""
    metrics = ",".join((LOAD_SECTORS, LANES))
    options = ["--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
    command = [ncu(), *options, "--metrics", metrics, sys.executable, __file__, "--launch", name]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {one.kernel: one.values for one in parse(told)}


def measured(name: str, counters: Mapping[str, Mapping[str, float]]) -> list[Record]:
    """What was predicted and counted of a matrix in each format."""
    matrix = matrix_of(name)
    offsets = matrix.arrays["row_offsets"].tolist()
    columns = matrix.arrays["column_index"].tolist()
    rows = [columns[a:b] for a, b in itertools.pairwise(offsets)]
    found: list[Record] = []
    for form in in_each(matrix):
        of = walk(rows, form)
        one: Record = {
            "matrix": name,
            "form": form,
            "lanes": of.lanes,
            "used": of.used,
            "sectors": 2 * of.matrix_sectors + of.x_sectors,
        }
        if values := counters.get(RUNGS[form]):
            one["counted_sectors"] = values[LOAD_SECTORS]
            one["counted_lanes"] = values[LANES] / 32
        print(one, flush=True)
        found.append(one)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--launch", metavar="MATRIX", help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help="write the record and the pages")
    options = parser.parse_args()
    if options.launch:
        launch(options.launch)
        return
    found = [one for name in MATRICES for one in measured(name, counted(name))]
    if options.write:
        import patterns_page

        device = describe_gpu("cuda", 0).name.lower().removeprefix("nvidia ").replace(" ", "-")
        path = RESULTS / f"patterns-{device}.json"
        record = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({**record, "warps": found}, indent=1) + "\n", encoding="utf-8")
        patterns_page.write()


if __name__ == "__main__":
    main()
