"""Data sets: Fashion-MNIST and what has its format, and tables, made a network's input."""

from rooftile.nn.data.fashion import CLASSES, Split, load_images
from rooftile.nn.data.image_set import ImageSet, read_archive
from rooftile.nn.data.images import DEVIATION, FASHION, MEAN, prepare, resize
from rooftile.nn.data.pixels import Pixels
from rooftile.nn.data.tables import (
    Standardisation,
    Table,
    from_arrays,
    read_csv,
    read_idx_pair,
    read_npz,
    read_table,
)

__all__ = [
    "CLASSES", "DEVIATION", "FASHION", "MEAN", "ImageSet", "Pixels", "Split", "Standardisation",
    "Table", "from_arrays", "load_images", "prepare", "read_archive", "read_csv", "read_idx_pair",
    "read_npz", "read_table", "resize",
]  # fmt: skip
