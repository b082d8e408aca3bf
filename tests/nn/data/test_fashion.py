from __future__ import annotations

import gzip
import re

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.nn.data import download, fashion, load_images
from rooftile.nn.data.download import DownloadFailure
from rooftile.nn.data.idx import idx_bytes

IMAGES = np.random.default_rng(0).integers(0, 256, (3, 28, 28), np.uint8)
LABELS = np.array([9, 0, 4], np.uint8)


def write(directory, images=IMAGES, labels=LABELS, suffix=".gz", split="t10k", dot="-"):
    pack = gzip.compress if suffix else bytes
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{split}-images{dot}idx3-ubyte{suffix}").write_bytes(pack(idx_bytes(images)))
    (directory / f"{split}-labels{dot}idx1-ubyte{suffix}").write_bytes(pack(idx_bytes(labels)))


@pytest.fixture
def places(tmp_path, monkeypatch):
    """An empty cache and an empty system directory, and no way out."""

    def no_download(*_: object) -> None:
        raise AssertionError("a download was tried")

    monkeypatch.setenv("ROOFTILE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fashion, "SYSTEM_DIRECTORY", tmp_path / "system")
    monkeypatch.setattr(download, "download_files", no_download)
    return tmp_path


@pytest.mark.parametrize("suffix", [".gz", ""])
@pytest.mark.parametrize("dot", ["-", "."])
@pytest.mark.parametrize(("split", "stem"), [("test", "t10k"), ("train", "train")])
def test_a_given_directory_comes_first(places, suffix, dot, split, stem):
    write(places / "own", suffix=suffix, split=stem, dot=dot)
    write(places / "system", labels=LABELS[::-1].copy(), split=stem)
    found = load_images(split, places / "own")
    np.testing.assert_array_equal(found.images, IMAGES)
    np.testing.assert_array_equal(found.labels, LABELS)
    assert found.source == f"{split} images in {places / 'own'}"


def test_the_cache_comes_before_the_system_directory(places):
    write(places / "system")
    assert str(places / "system") in load_images().source
    write(places / "cache" / "fashion-mnist", labels=LABELS[::-1].copy())
    found = load_images()
    assert str(places / "cache") in found.source
    assert found.labels.tolist() == [4, 0, 9]


def test_without_any_the_sample_is_used_and_says_so(places):
    found = load_images()
    assert len(found) == 1000
    assert found.images.shape == (1000, 28, 28)
    assert re.match("sample of the first 1,000 .*download was not asked for", found.source)


def test_a_failed_download_gives_the_sample_and_its_reason(places, monkeypatch):
    def fail(*_: object) -> None:
        raise DownloadFailure("https://somewhere: no route to host")

    monkeypatch.setattr(download, "download_files", fail)
    found = load_images(download=True)
    assert len(found) == 1000
    assert "no route to host" in found.source
    with pytest.raises(InputError, match=r"no route to host.*the train images"):
        load_images("train", download=True)


def test_a_download_is_read_from_the_cache(places, monkeypatch):
    def fetch(names, directory, progress):
        assert names == ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")
        write(directory, split="train")
        return tuple(directory / f"{name}.gz" for name in names)

    monkeypatch.setattr(download, "download_files", fetch)
    assert "downloaded" in load_images("train", download=True).source
    assert len(load_images("train", limit=2)) == 2


def test_there_is_no_training_sample(places):
    with pytest.raises(InputError, match=r"download was not asked for.*the train images"):
        load_images("train")


@pytest.mark.parametrize(("limit", "count"), [(None, 3), (1, 1), (3, 3), (7, 3)])
def test_a_limit_takes_the_first(places, limit, count):
    write(places / "own")
    found = load_images(data=places / "own", limit=limit)
    assert found.labels.tolist() == LABELS[:count].tolist()
    assert len(found.images) == len(found) == count


@pytest.mark.parametrize(
    ("change", "file", "message"),
    [
        ({"labels": np.array([1, 10, 2], np.uint8)}, "labels", "a label of 10; expected .*0 to 9"),
        ({"labels": LABELS[:2]}, "labels", "2 labels; expected 3"),
        ({"images": IMAGES[:, :27]}, "images", "27, 28.*28 x 28"),
        ({"images": IMAGES[:0], "labels": LABELS[:0]}, "images", "one or more"),
        ({"images": LABELS}, "images", "00000801.*00000803"),
    ],
)
def test_files_that_do_not_fit_are_named(places, change, file, message):
    write(places / "own", **change)
    with pytest.raises(InputError, match=f"{places / 'own'}/t10k-{file}.*{message}"):
        load_images(data=places / "own")


def test_a_directory_without_the_files_is_refused(places):
    (places / "own").mkdir()
    with pytest.raises(InputError, match=r"own.*t10k-images-idx3-ubyte.gz and t10k-labels"):
        load_images(data=places / "own")
    with pytest.raises(InputError, match=r"'validation'.*'test', 'train'"):
        load_images("validation")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="limit"):
        load_images(limit=0)


@pytest.mark.skipif(
    not fashion.SYSTEM_DIRECTORY.is_dir(), reason="dataset-fashion-mnist is not installed"
)
def test_the_sample_is_the_beginning_of_the_test_images(monkeypatch, tmp_path):
    monkeypatch.setenv("ROOFTILE_CACHE", str(tmp_path))
    whole = load_images("test")
    sample = load_images("test", fashion.SAMPLE_DIRECTORY)
    assert (len(whole), len(load_images("train")), len(sample)) == (10000, 60000, 1000)
    np.testing.assert_array_equal(sample.images, whole.images[:1000])
    np.testing.assert_array_equal(sample.labels, whole.labels[:1000])


def test_the_sample_keeps_its_licence():
    licence = (fashion.SAMPLE_DIRECTORY / "LICENSE").read_text(encoding="utf-8")
    assert "MIT License" in licence
    assert "Zalando SE" in licence
