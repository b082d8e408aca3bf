"""Data sets: Fashion-MNIST and what has its format, found or downloaded, made a network's input."""

from rooftile.nn.data.fashion import CLASSES, ImageSet, Split, load_images
from rooftile.nn.data.images import DEVIATION, MEAN, prepare, resize

__all__ = ["CLASSES", "DEVIATION", "MEAN", "ImageSet", "Split", "load_images", "prepare", "resize"]
