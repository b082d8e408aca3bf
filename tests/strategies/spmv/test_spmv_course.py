"""The course's lab: every case in every format, on the CPU and on OpenCL."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rooftile
from rooftile.ops.sparse.rows import FORMS

LABS = Path(__file__).parents[3] / ".." / "shared" / "course-labs" / "spmv"


def numbers(path: Path):
    return np.array(path.read_text(encoding="utf-8").split()[1:], np.float32)


def right(case, device):
    values, columns, offsets, x, expected = (
        numbers(LABS / case / f"{name}.raw") for name in ("data", "col", "row", "vec", "output")
    )
    given = values, columns.astype(np.int32), offsets.astype(np.int32)
    matrix = rooftile.sparse(given, shape=(len(x), len(x)))
    for form in FORMS:
        # All numbers are whole: every order of the sums gives the same.
        assert (rooftile.spmv(matrix.to(form), x, device=device) == expected).all(), form


@pytest.mark.skipif(not LABS.exists(), reason="no ../shared/course-labs beside the repository")
@pytest.mark.parametrize("case", ["0", "2", "4", "6"])
class TestCourse:
    def test_on_the_cpu(self, case):
        right(case, "cpu")

    def test_on_opencl(self, case, opencl_device):
        right(case, "opencl")
