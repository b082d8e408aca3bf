"""Data sets: Fashion-MNIST and what has its format, and tables, made a network's input.

They are imported on first use (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rooftile._lazy import attribute, names

if TYPE_CHECKING:
    from rooftile.nn.data.fashion import CLASSES, Split, load_images
    from rooftile.nn.data.image_set import ImageSet, read_archive
    from rooftile.nn.data.images import DEVIATION, FASHION, MEAN, prepare, resize
    from rooftile.nn.data.pixels import Pixels
    from rooftile.nn.data.standardisation import Standardisation
    from rooftile.nn.data.tables import (
        Table,
        from_arrays,
        read_csv,
        read_features,
        read_idx_pair,
        read_npz,
        read_table,
    )

__all__ = [
    "CLASSES", "DEVIATION", "FASHION", "MEAN", "ImageSet", "Pixels", "Split", "Standardisation",
    "Table", "from_arrays", "load_images", "prepare", "read_archive", "read_csv",
    "read_features", "read_idx_pair", "read_npz", "read_table", "resize",
]  # fmt: skip
_PLACES = {
    **dict.fromkeys(("CLASSES", "Split", "load_images"), f"{__name__}.fashion"),
    **dict.fromkeys(("ImageSet", "read_archive"), f"{__name__}.image_set"),
    **dict.fromkeys(("DEVIATION", "FASHION", "MEAN", "prepare", "resize"), f"{__name__}.images"),
    "Pixels": f"{__name__}.pixels",
    "Standardisation": f"{__name__}.standardisation",
    **dict.fromkeys(
        (
            "Table", "from_arrays", "read_csv", "read_features", "read_idx_pair", "read_npz",
            "read_table",
        ),
        f"{__name__}.tables",
    ),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    return attribute(__name__, _PLACES, name)


def __dir__() -> list[str]:
    return names(__name__, _PLACES)
