"""Data sets: Fashion-MNIST and what has its format, found or downloaded, made a network's input."""

from rooftile.nn.data.fashion import CLASSES, ImageSet, Split, load_images
from rooftile.nn.data.images import DEVIATION, FASHION, MEAN, prepare, resize
from rooftile.nn.data.pixels import Pixels

__all__ = [
    "CLASSES", "DEVIATION", "FASHION", "MEAN", "ImageSet", "Pixels", "Split", "load_images",
    "prepare", "resize",
]  # fmt: skip
