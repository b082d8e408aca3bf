"""Fashion-MNIST: where it is found, and what is done where it is not.

Source: Xiao, Rasul, Vollgraf, "Fashion-MNIST: a novel image dataset for benchmarking
machine learning algorithms", 2017; https://github.com/zalandoresearch/fashion-mnist.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from rooftile.devices import cache
from rooftile.errors import InputError, unknown
from rooftile.nn.data.content import content

if TYPE_CHECKING:
    from rooftile.nn.data.download import Report
    from rooftile.nn.data.image_set import ImageSet

Split = Literal["test", "train"]

CLASSES = (
    "T-shirt/top",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)
"""The meaning of Fashion-MNIST's labels 0 to 9."""

SYSTEM_DIRECTORY = Path("/usr/share/datasets/fashion-mnist")
"""The folder of Debian's package ``dataset-fashion-mnist``."""
SAMPLE_DIRECTORY = Path(__file__).parent / "sample"
"""The first 1,000 test images, shipped with rooftile."""

_NAMES: dict[Split, tuple[str, str]] = {
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
}
_SIZE = (28, 28)
_GET_THEM = "download=True, or --download, fetches them, and so does Debian's dataset-fashion-mnist"


def load_images(
    split: Split = "test",
    data: str | Path | None = None,
    limit: int | None = None,
    download: bool = False,
    progress: Report | None = None,
) -> ImageSet:
    """The first ``limit`` images of a split of Fashion-MNIST, or all of them.

    The places are tried in this order: the directory ``data``, which must have the files (MNIST's
    files have the same names and are read too), or images of your own of any size in ``test.npz``
    and ``train.npz`` (`read_archive`); the user's cache; the system's directory; with ``download``
    the project's own site, whose files go into the cache; and for the test images the sample that
    rooftile ships. ``source`` of the result says which place it was, and why there was no better
    one. ``progress`` is told of the download: file, bytes so far, bytes in all.

    Raises `InputError`, which names the file, for one that is missing from ``data``, damaged, or of
    another split; and when there are no training images.
    """
    if split not in _NAMES:
        raise unknown("split", split, get_args(Split))
    if limit is not None:
        # Imported here: the operations take longer than to begin to read.
        from rooftile.ops.checks import check_positive

        check_positive(limit=limit)
    if data is not None:
        return _given(Path(data), split, limit)
    for directory in (cache_directory(), SYSTEM_DIRECTORY):
        files = _files(directory, split)
        if files is not None:
            return _read(files, limit, f"Fashion-MNIST {split} images in {directory}")
    reason = "a download was not asked for"
    if download:
        # Imported here, with pooch: most calls download nothing.
        from rooftile.nn.data.download import DownloadFailure, download_files

        try:
            downloaded = download_files(_NAMES[split], cache_directory(), progress)
            source = f"Fashion-MNIST {split} images, downloaded into {cache_directory()}"
            return _read(downloaded, limit, source)
        except DownloadFailure as failure:
            reason = f"the download failed: {failure}"
    places = f"no Fashion-MNIST in {cache_directory()} or {SYSTEM_DIRECTORY}, and {reason}"
    sample = _files(SAMPLE_DIRECTORY, split)
    if sample is None:
        raise InputError("data", places, f"a directory with the {split} images; {_GET_THEM}")
    return _read(sample, limit, f"sample of the first 1,000 Fashion-MNIST test images ({places})")


def _given(directory: Path, split: Split, limit: int | None) -> ImageSet:
    """The images of a directory that was named."""
    files, archive = _files(directory, split), directory / f"{split}.npz"
    source = f"{split} images in {directory}"
    if files is not None:
        return _read(files, limit, source)
    if archive.is_file():
        from rooftile.nn.data.image_set import read_archive

        return read_archive(archive, limit, source)
    names = " and ".join(f"{name}.gz" for name in _NAMES[split])
    expected = f"a directory with {archive.name}, or {names} (or without .gz)"
    raise InputError("data", str(directory), expected)


def cache_directory() -> Path:
    """The folder of downloaded files, next to rooftile's other caches."""
    return cache.cache_directory() / "fashion-mnist"


def _files(directory: Path, split: Split) -> tuple[Path, Path] | None:
    """The images and the labels of a split in a directory that has both."""
    images, labels = (_find(directory, name) for name in _NAMES[split])
    return None if images is None or labels is None else (images, labels)


def _find(directory: Path, name: str) -> Path | None:
    """A file by its name, compressed or not, as Fashion-MNIST or as MNIST spells it."""
    spellings = (name, name.replace("-idx", ".idx"))
    candidates = (directory / f"{s}{suffix}" for s in spellings for suffix in (".gz", ""))
    return next((path for path in candidates if path.is_file()), None)


def _read(files: tuple[Path, Path], limit: int | None, source: str) -> ImageSet:
    """Both files of a split, checked against each other."""
    image_path, label_path = files
    held = content(image_path), content(label_path)
    # Imported behind them, with NumPy: another thread may be at that.
    from rooftile.nn.data.idx import array_of
    from rooftile.nn.data.image_set import ImageSet

    images, labels = array_of(held[0], 3, image_path), array_of(held[1], 1, label_path)
    if images.shape[1:] != _SIZE or len(images) == 0:
        raise InputError(str(image_path), f"images {images.shape}", "one or more of 28 x 28 pixels")
    if len(labels) != len(images):
        raise InputError(
            str(label_path), f"{len(labels)} labels", f"{len(images)}, one for each image"
        )
    if labels.max() >= len(CLASSES):
        raise InputError(str(label_path), f"a label of {labels.max()}", "labels from 0 to 9")
    return ImageSet(images[:limit], labels[:limit], source, CLASSES)
