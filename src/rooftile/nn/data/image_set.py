"""Images with their labels, and archives of NumPy's that hold a person's own."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Images with their labels, and where they are from."""

    images: NDArray[np.uint8]
    """[n, height, width] or [n, channels, height, width]; 0 is black."""
    labels: NDArray[np.integer[Any]]
    """[n], 0 and above."""
    source: str
    """The set's name and source, for a person to read."""
    classes: tuple[str, ...] = ()
    """The labels' names, where they have names."""

    def __len__(self) -> int:
        return len(self.labels)

    def name(self, label: int) -> str:
        """The name of a label."""
        return self.classes[label] if label < len(self.classes) else f"class {label}"


def read_archive(path: Path, limit: int | None, source: str) -> ImageSet:
    """The first ``limit`` images of a file that ``numpy.savez`` wrote, or all of them.

    ``images`` uint8[n, height, width] or [n, channels, height, width] and ``labels`` integers[n]
    must be there; ``classes`` may name the labels.  Raises `InputError`, which names the file.
    """
    expected = "a file of numpy.savez with images and labels"
    try:
        # Opened here, since NumPy does not close a damaged file.
        with path.open("rb") as file, np.load(file) as archive:
            found = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError) as error:
        # The last is NumPy's for a file of one array alone.
        raise InputError(str(path), f"an unreadable file ({error})", expected) from error
    missing = [name for name in ("images", "labels") if name not in found]
    if missing:
        raise InputError(str(path), f"no {' and no '.join(missing)}", expected)
    images, labels = found["images"], found["labels"]
    if images.dtype != np.uint8 or images.ndim not in (3, 4) or 0 in images.shape:
        shapes = "[n, height, width] or [n, channels, height, width], n > 0"
        raise InputError(
            f"{path}: images", f"{images.dtype}{list(images.shape)}", f"uint8 {shapes}"
        )
    whole = np.issubdtype(labels.dtype, np.integer)
    if not whole or labels.shape != (len(images),) or labels.min() < 0:
        given = f"{labels.dtype}{list(labels.shape)}" + (", some below 0" if whole else "")
        raise InputError(f"{path}: labels", given, f"integers[{len(images)}] of at least 0")
    classes = tuple(map(str, found.get("classes", np.empty(0, str)).ravel()))
    return ImageSet(images[:limit], labels[:limit], source, classes)
