"""The labs of a course by name: their problems, and how their data sets are read.

A lab is a folder, a data set a folder in it.  Text files (``.raw``, ``.dat``) begin with a line of
one length, or of rows and columns, behind which numbers follow; pictures are binary ``.ppm``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.errors import InputError, unknown
from rooftile.ops import AnyArray, Float32, Problem
from rooftile.ops.patterns.conv3d import Conv3d
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.ops.patterns.equalize import Equalize
from rooftile.ops.patterns.matmul import Matmul
from rooftile.ops.patterns.reduce import Reduce
from rooftile.ops.patterns.scan import Scan
from rooftile.ops.sparse.spmv import Spmv

VARIABLE = "ROOFTILE_COURSE_LABS"
"""The environment's variable that says where the labs lie."""


@dataclass(frozen=True)
class Case:
    """One data set: what a kernel is given, and what it must give."""

    name: str
    problem: Problem
    given: tuple[AnyArray, ...]
    expected: AnyArray
    rtol: float
    atol: float

    def agrees(self, result: AnyArray) -> bool:
        """True if ``|result - expected| <= atol + rtol |expected|`` everywhere."""
        expected = self.expected.astype(np.float64)
        off = np.abs(result.astype(np.float64).reshape(expected.shape) - expected)
        return bool((off <= self.atol + self.rtol * np.abs(expected)).all())


def read_numbers(path: Path) -> Float32:
    """The values of a text file, as its first line shapes them.  Raises `InputError`."""
    try:
        head, _, rest = path.read_text(encoding="ascii").partition("\n")
        shape = tuple(int(size) for size in head.split())
        return np.array(rest.split(), np.float64).astype(np.float32).reshape(shape)
    except (OSError, ValueError) as error:
        expected = "a line of sizes, and as many numbers"
        raise InputError(str(path), f"no data ({error})", expected) from None


def read_picture(path: Path) -> AnyArray:
    """A binary PPM as uint8[height, width, 3].  Raises `InputError`."""
    try:
        content = path.read_bytes()
        fields: list[bytes] = []
        start = 0
        while len(fields) < 4:
            end = content.index(b"\n", start)
            line, start = content[start:end], end + 1
            fields += [] if line.startswith(b"#") else line.split()
        width, height = int(fields[1]), int(fields[2])
        if fields[0] != b"P6" or fields[3] != b"255":
            raise ValueError(f"it begins with {fields}")
        pixels = np.frombuffer(content, np.uint8, 3 * width * height, start)
    except (OSError, ValueError) as error:
        raise InputError(str(path), f"no picture ({error})", "a P6 file of 255 levels") from None
    return pixels.reshape(height, width, 3)


def _vector_add(folder: Path) -> tuple[Problem, tuple[AnyArray, ...], AnyArray]:
    x, y = read_numbers(folder / "input0.raw"), read_numbers(folder / "input1.raw")
    return Elementwise("add", x.shape), (x, y), read_numbers(folder / "output.raw")


def _matmul(folder: Path) -> tuple[Problem, tuple[AnyArray, ...], AnyArray]:
    a, b = read_numbers(folder / "input0.raw"), read_numbers(folder / "input1.raw")
    problem = Matmul(a.shape[0], a.shape[1], b.shape[1])
    return problem, (a, b), read_numbers(folder / "output.raw")


def _conv3d(folder: Path) -> tuple[Problem, tuple[AnyArray, ...], AnyArray]:
    volume, expected = (read_numbers(folder / f"{name}.dat") for name in ("input", "output"))
    depth, height, width = (int(size) for size in volume[:3])
    mask = read_numbers(folder / "kernel.dat").reshape(3, 3, 3)
    given = volume[3:].reshape(depth, height, width), mask
    problem = Conv3d(depth, height, width, (3, 3, 3))
    return problem, given, expected[3:].reshape(depth, height, width)


def _reduce_sum(folder: Path) -> tuple[Problem, tuple[AnyArray, ...], AnyArray]:
    x, expected = read_numbers(folder / "input0.raw"), read_numbers(folder / "output.raw")
    return Reduce(x.shape), (x,), expected.reshape(())


def _scan(folder: Path) -> tuple[Problem, tuple[AnyArray, ...], AnyArray]:
    x = read_numbers(folder / "input.raw")
    return Scan(x.shape), (x,), read_numbers(folder / "output.raw")


def _equalize(folder: Path) -> tuple[Problem, tuple[AnyArray, ...], AnyArray]:
    image = read_picture(folder / "input.ppm")
    return Equalize(*image.shape), (image,), read_picture(folder / "output.ppm")


def _spmv(folder: Path) -> tuple[Problem, tuple[AnyArray, ...], AnyArray]:
    names = ("data", "col", "row", "vec", "output")
    values, columns, rows, x, expected = (read_numbers(folder / f"{n}.raw") for n in names)
    problem = Spmv(len(rows) - 1, len(x), len(values))
    return problem, (values, columns.astype(np.int32), rows.astype(np.int32), x), expected


Read = Callable[[Path], tuple[Problem, tuple[AnyArray, ...], AnyArray]]
LABS: Mapping[str, tuple[Read, float, float]] = {
    "vector_add": (_vector_add, 1e-6, 0.0),
    "matmul": (_matmul, 2e-5, 0.0),
    "conv3d": (_conv3d, 0.0, 1e-5),
    "reduce_sum": (_reduce_sum, 0.0, 0.0),
    "scan_inclusive": (_scan, 0.0, 0.0),
    "histogram_equalization": (_equalize, 0.0, 1.0),
    "spmv": (_spmv, 0.0, 0.0),
}
"""The readers of labs' data sets, with a result's tolerance: a share, and a number."""


def cases(lab: str, data: Path | None = None) -> list[Case]:
    """The data sets of a lab, from the folder of all labs; None stands for `VARIABLE`'s.

    Raises `InputError` for a lab that is unknown, and for a folder without a data set.
    """
    if lab not in LABS:
        raise unknown("lab", lab, LABS)
    place: Any = data or os.environ.get(VARIABLE)
    if not place:
        raise InputError("data", "none", f"--data DIR with the folder {lab} in it, or {VARIABLE}")
    folder = Path(place) / lab
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    if not found:
        raise InputError("data", str(folder), "a folder of data sets")
    read, rtol, atol = LABS[lab]
    return [Case(one.name, *read(one), rtol, atol) for one in found if one.is_dir()]
