"""Sparse matrices for the patterns on a GPU, made in other processes while it measures.

They are made and brought into their formats on the host, which takes seconds, and lie in files
until they are asked for.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rooftile import Sparse
from rooftile.analysis.spmv import Structure
from rooftile.errors import InputError
from rooftile.ops import AnyArray, named
from rooftile.ops.sparse import generated as patterns
from rooftile.ops.sparse.rows import ARRAYS, Form
from rooftile.ops.sparse.spmv import Spmv

_PROCESSES = max(4, (os.cpu_count() or 1) // 2)
_SHARED = Path("/dev/shm")
_ROOM = 24 * 2**30
"""Bytes that all matrices fit into; files in memory are read fastest."""
CHOSEN_FROM: tuple[Form, ...] = ("csr", "coo", "ell", "hybrid", "jds_t", "dia", "bsr")
"""The formats that the chooser is held against."""
HOPELESS = 2.0
"""A format that moves so many times the least bytes is not timed for the chooser."""
SIZES = {"gpu": (2**19, 1024), "cpu": (2**18, 512), "trial": (2**10, 32)}
"""Rows of the chooser's matrices, and points on a side of the middle one of its grids."""


@dataclass(frozen=True)
class Prepared:
    """A matrix in several formats, each array in a file."""

    shape: tuple[int, int]
    entries: int
    structure: Structure
    files: dict[Form, list[str]]

    def matrix(self, form: Form) -> Sparse:
        """The matrix in one of its formats."""
        loaded = [np.load(path) for path in self.files[form]]
        held = dict(zip(ARRAYS[form], loaded, strict=True))
        made = Sparse(self.shape, form, held, self.entries)
        made._structure = self.structure
        return made


class Workshop:
    """Processes that make matrices in the order in which they were asked for."""

    def __init__(self, small: bool) -> None:
        self._small = small
        roomy = _SHARED.is_dir() and shutil.disk_usage(_SHARED).free > _ROOM
        shared = _SHARED if roomy else None
        self._folder = tempfile.TemporaryDirectory(dir=shared)
        method = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(1 if small else _PROCESSES, method)
        self._made: dict[str, Future[Prepared]] = {}

    def ask(self, name: str, problem: Spmv, forms: tuple[Form, ...]) -> None:
        """Begin to make a matrix."""
        place = Path(self._folder.name) / name
        self._made[name] = self._pool.submit(prepare, problem, forms, place)

    def get(self, name: str) -> Prepared:
        """A matrix; it is waited for."""
        return self._made[name].result()

    def drop(self, name: str) -> None:
        """Delete a matrix's files."""
        for paths in self._made.pop(name).result().files.values():
            for path in paths:
                Path(path).unlink()

    def close(self) -> None:
        """Stop, and leave nothing behind."""
        self._pool.shutdown(cancel_futures=True)
        self._folder.cleanup()


def prepare(problem: Spmv, forms: tuple[Form, ...], place: Path) -> Prepared:
    """The problem's random matrix in its own format, CSR, and in others that may hold it."""
    arrays = problem.random(0)[: len(ARRAYS["csr"])]
    held = dict(zip(ARRAYS["csr"], arrays, strict=True))
    csr = Sparse((problem.rows, problem.columns), "csr", held, problem.entries)
    moved = {one.form: one.bytes for one in csr.estimates(device="cuda")}
    least = min(moved.values())
    place.mkdir()
    files: dict[Form, list[str]] = {"csr": _stored(csr, place)}
    for form in forms:
        if form == "csr" or moved[form] > HOPELESS * least:
            continue
        try:
            files[form] = _stored(csr.to(form), place)
        except InputError:
            continue
    return Prepared(csr.shape, csr.nnz, csr.structure, files)


def _stored(matrix: Sparse, place: Path) -> list[str]:
    paths = []
    for name, array in matrix.arrays.items():
        path = place / f"{matrix.format}-{name}.npy"
        np.save(path, array)
        paths.append(str(path))
    return paths


def families(size: int, side: int) -> dict[str, Spmv]:
    """Twenty matrices of different kinds, by name: of ``size`` rows, and of grids about ``side``
    points wide."""
    found: dict[str, Spmv] = {}
    for reach in (1, 4, 13, 31):
        entries = patterns.band_entries(size, reach)
        found[f"{2 * reach + 1} diagonals"] = _csr(size, entries, "banded", 2 * reach + 1)
    for points in (side // 2, side, 2 * side):
        grid = patterns.grid_entries(points)
        found[f"grid of {points}^2"] = _csr(points * points, grid, "grid", 5)
    for each in (4, 8, 16, 32):
        found[f"{each} a row"] = _csr(size, each * size, "even", each)
    for each, longest in ((4, 100), (16, 200), (16, 2000), (32, 20_000)):
        name = f"{each} a row, up to {longest}"
        found[name] = _csr(size, each * size, "random", min(longest, size))
    for each in (8, 16, 32):
        found[f"blocks of 4x4, {each} a row"] = replace(
            _csr(size, each * size, "blocks", each), block=4
        )
    for each in (4, 16):
        entries = each * (size - 1) + size
        found[f"{each} a row, one full"] = _csr(size, entries, "dense", size)
    return found


def _csr(size: int, entries: int, pattern: Any, longest: int) -> Spmv:
    return Spmv(size, size, entries, "csr", pattern=pattern, width=longest)


def of_case(name: str, small: bool) -> Spmv:
    """The matrix of a case; a small one for a trial."""
    problem: Any = named("spmv", name.replace("-csr", "-small-csr") if small else name)
    return problem  # type: ignore[no-any-return]


def poisson(side: int, dtype: str) -> Sparse:
    """The five-point stencil of Poisson's equation on a square: 4 and four times -1 a row."""
    size, kind = side * side, np.dtype(dtype)
    every = np.arange(side)
    values = np.full((5, size), -1, kind)
    values[2] = 4
    grid = values.reshape(5, side, side)
    grid[0, every == 0] = 0
    grid[4, every == side - 1] = 0
    grid[1][:, every == 0] = 0
    grid[3][:, every == side - 1] = 0
    diagonals: AnyArray = np.array([-side, -1, 0, 1, side], np.int32)
    held = {"values": values, "diagonals": diagonals}
    return Sparse((size, size), "dia", held, 5 * size - 4 * side)
