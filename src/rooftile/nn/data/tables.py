"""Tables of features with a label in each row: CSV, NPZ, IDX and arrays of other libraries."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError
from rooftile.nn.data.idx import read_idx
from rooftile.runtime.arrays import library_of


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers, each with the number of its class.  Raises `InputError`."""

    features: NDArray[np.float64]
    """[n, features]"""
    labels: NDArray[np.int64]
    """[n], 0 at least"""
    source: str
    """Where it is from, for a person to read."""

    def __post_init__(self) -> None:
        shapes = self.features.shape, self.labels.shape
        if len(shapes[0]) != 2 or shapes[1] != shapes[0][:1] or 0 in shapes[0]:
            found = f"features {list(shapes[0])} and labels {list(shapes[1])}"
            raise InputError(self.source, found, "features[n, k] and labels[n], n and k above 0")
        if not np.isfinite(self.features).all():
            row, column = np.argwhere(~np.isfinite(self.features))[0]
            raise InputError(self.source, f"NaN or infinity in row {row}, {column}", "numbers")
        if self.labels.min() < 0:
            raise InputError(self.source, f"a label of {self.labels.min()}", "labels from 0 on")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def classes(self) -> int:
        """How many classes there are: one more than the largest label."""
        return int(self.labels.max()) + 1


@dataclass(frozen=True, eq=False)
class Standardisation:
    """``(x - mean) / deviation``, feature by feature, as a training set has them."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]

    @classmethod
    def of(cls, features: NDArray[np.float64]) -> Standardisation:
        """Learnt from the rows that are trained on, and from no others.

        A feature that never changes is only moved.
        """
        deviation = features.std(axis=0)
        return cls(features.mean(axis=0), np.where(deviation > 0, deviation, 1.0))

    def __call__(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows of any set, by what was learnt."""
        return (features - self.mean) / self.deviation


def read_csv(
    path: Path, *, delimiter: str = ",", header: bool = False, label: int | str = -1
) -> Table:
    """Numbers in columns, one of which is the label.

    ``label`` counts columns from 0, from the end where it is negative, or is the column's name in
    the header.  Empty lines are left out.  Raises `InputError`, which names file, line and column.
    """
    if len(delimiter) != 1:
        raise InputError("delimiter", repr(delimiter), "one character")
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter)
            rows = [(reader.line_num, row) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(str(path), f"an unreadable file ({error})", "a CSV file") from error
    names = rows.pop(0)[1] if header and rows else []
    if not rows:
        raise InputError(str(path), "no rows", "one at least")
    width = len(names or rows[0][1])
    place = _column(path, label, names, width)
    values = np.array([_numbers(path, line, row, width) for line, row in rows])
    labels = values[:, place]
    wrong = np.flatnonzero((labels != np.rint(labels)) | (labels < 0))
    if len(wrong):
        line = rows[wrong[0]][0]
        where = f"{path}, line {line}, column {place + 1}"
        raise InputError(where, f"a label of {labels[wrong[0]]:g}", "a whole number from 0 on")
    return Table(np.delete(values, place, axis=1), labels.astype(np.int64), str(path))


def _column(path: Path, label: int | str, names: list[str], width: int) -> int:
    """The label's place."""
    if isinstance(label, str):
        if label not in names:
            raise InputError("label", repr(label), f"a column of {path}: {names or 'no header'}")
        return names.index(label)
    if width < 2 or not -width <= label < width:
        raise InputError("label", label, f"one of {width} columns in {path}, beside another one")
    return label % width


def _numbers(path: Path, line: int, row: list[str], width: int) -> list[float]:
    if len(row) != width:
        raise InputError(f"{path}, line {line}", f"{len(row)} columns", f"{width}, as before")
    values = []
    for column, text in enumerate(row, 1):
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise InputError(f"{path}, line {line}, column {column}", repr(text), "a number")
        values.append(value)
    return values


def read_npz(path: Path, features: str = "x", labels: str = "y") -> Table:
    """Two arrays of an NPZ file.  Raises `InputError`."""
    try:
        with np.load(path, allow_pickle=False) as file:
            missing = [name for name in (features, labels) if name not in file.files]
            if missing:
                raise InputError(str(path), f"arrays {file.files}", f"{missing} too")
            return from_arrays(file[features], file[labels], str(path))
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(str(path), f"an unreadable file ({error})", "an NPZ file") from error


def read_idx_pair(images: Path, labels: Path) -> Table:
    """Images and labels of two IDX files; a pixel is a feature, 0 to 1.  Raises `InputError`."""
    pixels = read_idx(images, 3)
    return from_arrays(pixels.reshape(len(pixels), -1) / 255, read_idx(labels, 1), str(images))


def from_arrays(features: Any, labels: Any, source: str = "arrays") -> Table:
    """Arrays of NumPy, or of PyTorch or JAX in the CPU's memory.  Raises `InputError`."""
    numbers = ("float32", "float64", "uint8", "int32", "int64")
    x = library_of("features", features).on_host("features", features, numbers)
    y = library_of("labels", labels).on_host("labels", labels, ("uint8", "int32", "int64"))
    return Table(x.astype(np.float64), y.astype(np.int64), source)


def read_table(
    path: Path, *, delimiter: str = ",", header: bool = False, label: int | str = -1
) -> Table:
    """A CSV or an NPZ file, by its name.  Raises `InputError`."""
    if path.suffix == ".npz":
        return read_npz(path)
    return read_csv(path, delimiter=delimiter, header=header, label=label)
