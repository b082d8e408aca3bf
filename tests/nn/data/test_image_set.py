"""Archives of a person's own images: read whole, or refused with the file's name."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.nn.data import load_images, read_archive

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 3, 4, 6), np.uint8)
LABELS = np.array([0, 2, 1, 2, 0])


@pytest.mark.parametrize("split", ["test", "train"])
def test_a_directory_with_archives_is_read(tmp_path, split):
    np.savez(tmp_path / f"{split}.npz", images=IMAGES, labels=LABELS, classes=["x", "y", "z"])
    found = load_images(split, tmp_path, limit=4)
    np.testing.assert_array_equal(found.images, IMAGES[:4])
    np.testing.assert_array_equal(found.labels, LABELS[:4])
    assert found.source == f"{split} images in {tmp_path}"
    assert [found.name(label) for label in (0, 2, 3)] == ["x", "z", "class 3"]


def test_a_directory_without_says_what_may_lie_there(tmp_path):
    with pytest.raises(InputError, match=r"test\.npz, or t10k-images"):
        load_images("test", tmp_path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"images": IMAGES}, "no labels"),
        ({"labels": LABELS}, "no images"),
        ({"images": IMAGES / 255, "labels": LABELS}, "images: got float64"),
        ({"images": IMAGES[0, 0], "labels": LABELS}, "images: got uint8"),
        ({"images": IMAGES[:0], "labels": LABELS[:0]}, "images: got uint8"),
        ({"images": IMAGES, "labels": LABELS[:4]}, r"labels: got int64\[4\]"),
        ({"images": IMAGES, "labels": LABELS - 1}, "some below 0"),
        ({"images": IMAGES, "labels": LABELS * 1.5}, "labels: got float64"),
        ({"images": np.array([{}], object), "labels": LABELS}, "unreadable"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, arrays, message):
    path = tmp_path / "test.npz"
    np.savez(path, **arrays)
    with pytest.raises(InputError, match=f"{path}.*{message}"):
        read_archive(path, None, "")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"\x93NUMPY"])
def test_a_damaged_file_is_named(tmp_path, content):
    path = tmp_path / "test.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"{path}.*unreadable"):
        read_archive(path, None, "")
