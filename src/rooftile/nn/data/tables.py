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
from rooftile.runtime.arrays.libraries import library_of


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers, each with the number of its class, or with the numbers that a regression
    should come near to.  Raises `InputError`."""

    features: NDArray[np.float64]
    """[n, features]"""
    labels: NDArray[np.int64] | NDArray[np.float64]
    """int64[n], 0 at least; of a regression float64[n, targets]"""
    source: str
    """The table's source, for a person to read."""

    def __post_init__(self) -> None:
        shapes, regression = (self.features.shape, self.labels.shape), self.labels.dtype.kind == "f"
        fits = len(shapes[0]) == 2 and shapes[1][:1] == shapes[0][:1]
        if not fits or len(shapes[1]) != 1 + regression or 0 in (*shapes[0], *shapes[1]):
            found = f"features {list(shapes[0])} and labels {list(shapes[1])}"
            expected = (
                f"features[n, k] and {'targets[n, m]' if regression else 'labels[n]'}, none 0"
            )
            raise InputError(self.source, found, expected)
        for numbers in (self.features, self.labels):
            if not np.isfinite(numbers).all():
                row, column = np.argwhere(~np.isfinite(numbers))[0]
                raise InputError(self.source, f"NaN or infinity in row {row}, {column}", "numbers")
        if not regression and self.labels.min() < 0:
            raise InputError(self.source, f"a label of {self.labels.min()}", "labels from 0 on")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def classes(self) -> int:
        """Number of classes: one more than the largest label."""
        return int(self.labels.max()) + 1


def read_csv(
    path: Path,
    *,
    delimiter: str = ",",
    header: bool = False,
    label: int | str = -1,
    targets: int | None = None,
) -> Table:
    """Numbers in columns, one of which is the label; of a regression ``targets`` columns are.

    ``label`` counts columns from 0, from the end where it is negative, or is the column's name in
    the header; the other targets follow that column, or before it where it counts from the end.
    Empty lines are left out. Raises `InputError`, which names file, line and column.
    """
    names, lines, values = _read(path, delimiter, header)
    count = targets or 1
    place = _column(path, label, names, values.shape[1], count)
    columns = range(place, place + count)
    features, labels = np.delete(values, columns, axis=1), values[:, place]
    if targets is not None:
        return Table(features, values[:, columns], str(path))
    wrong = np.flatnonzero((labels != np.rint(labels)) | (labels < 0))
    if len(wrong):
        where = f"{path}, line {lines[wrong[0]]}, column {place + 1}"
        raise InputError(where, f"a label of {labels[wrong[0]]:g}", "a whole number from 0 on")
    return Table(features, labels.astype(np.int64), str(path))


def read_features(
    path: Path,
    count: int,
    *,
    delimiter: str = ",",
    header: bool = False,
    label: int | str = -1,
    targets: int = 1,
) -> NDArray[np.float64]:
    """The features[n, count] of a CSV or an NPZ file, whose rows may have labels or not: these are
    left out.  ``label`` and ``targets`` are as for `read_csv`.  Raises `InputError`."""
    if path.suffix == ".npz":
        values = _arrays(path, ["x"])[0]
        if values.ndim != 2 or values.dtype.kind not in "fiu":
            raise InputError(str(path), f"x {values.dtype}{list(values.shape)}", "numbers x[n, k]")
    else:
        names, _, values = _read(path, delimiter, header)
        if values.shape[1] == count + targets:
            place = _column(path, label, names, values.shape[1], targets)
            values = np.delete(values, range(place, place + targets), axis=1)
    if values.shape[1] != count:
        found = f"{values.shape[1]} columns"
        raise InputError(str(path), found, f"{count} features, with or without a label")
    made: NDArray[np.float64] = values.astype(np.float64)
    return made


def _read(
    path: Path, delimiter: str, header: bool
) -> tuple[list[str], list[int], NDArray[np.float64]]:
    """The columns' names, each row's line, and the numbers of a CSV file.  Raises `InputError`."""
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
    values = np.array([_numbers(path, line, row, width) for line, row in rows])
    return names, [line for line, _ in rows], values


def _column(path: Path, label: int | str, names: list[str], width: int, count: int) -> int:
    """The index of the first of ``count`` columns of labels."""
    if isinstance(label, str):
        if label not in names:
            raise InputError("label", repr(label), f"a column of {path}: {names or 'no header'}")
        place = names.index(label)
    else:
        place = label if label >= 0 else width + label - count + 1
    if width <= count or not 0 <= place <= width - count:
        expected = f"{count} of {width} columns in {path}, with a feature in another one"
        raise InputError("label", label, expected)
    return place


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


def read_npz(
    path: Path, features: str = "x", labels: str = "y", *, regression: bool = False
) -> Table:
    """Two arrays of an NPZ file; of a ``regression`` the second one has numbers to come near to.

    Raises `InputError`.
    """
    x, y = _arrays(path, [features, labels])
    return from_arrays(x, y, str(path), regression=regression)


def _arrays(path: Path, names: list[str]) -> list[NDArray[Any]]:
    """Arrays of an NPZ file.  Raises `InputError`."""
    try:
        with np.load(path, allow_pickle=False) as file:
            missing = [name for name in names if name not in file.files]
            if missing:
                raise InputError(str(path), f"arrays {file.files}", f"{missing} too")
            return [file[name] for name in names]
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(str(path), f"an unreadable file ({error})", "an NPZ file") from error


def read_idx_pair(images: Path, labels: Path) -> Table:
    """Images and labels of two IDX files; a pixel is a feature, 0 to 1.  Raises `InputError`."""
    pixels = read_idx(images, 3)
    return from_arrays(pixels.reshape(len(pixels), -1) / 255, read_idx(labels, 1), str(images))


def from_arrays(
    features: Any, labels: Any, source: str = "arrays", *, regression: bool = False
) -> Table:
    """Arrays of NumPy, or of PyTorch or JAX in the CPU's memory; of a ``regression`` labels are
    numbers [n] or [n, targets].  Raises `InputError`."""
    numbers = ("float32", "float64", "uint8", "int32", "int64")
    x = library_of("features", features).on_host("features", features, numbers)
    if regression:
        y = library_of("labels", labels).on_host("labels", labels, numbers).astype(np.float64)
        return Table(x.astype(np.float64), y[:, None] if y.ndim == 1 else y, source)
    y = library_of("labels", labels).on_host("labels", labels, ("uint8", "int32", "int64"))
    return Table(x.astype(np.float64), y.astype(np.int64), source)


def read_table(
    path: Path,
    *,
    delimiter: str = ",",
    header: bool = False,
    label: int | str = -1,
    targets: int | None = None,
) -> Table:
    """A CSV or an NPZ file, by its name: see `read_csv`.  Raises `InputError`."""
    if path.suffix == ".npz":
        return read_npz(path, regression=targets is not None)
    words: dict[str, Any] = {"delimiter": delimiter, "header": header, "label": label}
    return read_csv(path, **words, targets=targets)
