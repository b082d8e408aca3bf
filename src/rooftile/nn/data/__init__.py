"""Data sets: Fashion-MNIST, found or downloaded, and a person's own; made a network's input."""

from rooftile.nn.data.fashion import CLASSES, Split, load_images
from rooftile.nn.data.image_set import ImageSet, read_archive
from rooftile.nn.data.images import DEVIATION, FASHION, MEAN, prepare, resize
from rooftile.nn.data.pixels import Pixels

__all__ = [
    "CLASSES", "DEVIATION", "FASHION", "MEAN", "ImageSet", "Pixels", "Split", "load_images",
    "prepare", "read_archive", "resize",
]  # fmt: skip
