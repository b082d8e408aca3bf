from __future__ import annotations

import gzip
import hashlib

import pytest

from rooftile.nn.data import download
from rooftile.nn.data.fashion import SYSTEM_DIRECTORY

NAMES = ("images", "labels")
CONTENT = {"images": bytes(range(256)) * 999, "labels": b"labels"}


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A site that is a directory, and the right sums of its files."""
    directory = tmp_path / "site"
    directory.mkdir()
    for name, content in CONTENT.items():
        (directory / f"{name}.gz").write_bytes(gzip.compress(content))
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
    monkeypatch.setattr(download, "URL", f"{directory.as_uri()}/")
    monkeypatch.setattr(download, "SHA256", sums)
    return directory


def test_both_files_arrive_and_progress_is_reported(site, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "_PIECE", 100)
    reports = []
    paths = download.download_files(NAMES, tmp_path / "cache", lambda *r: reports.append(r))
    assert [gzip.decompress(path.read_bytes()) for path in paths] == list(CONTENT.values())
    size = (site / "images.gz").stat().st_size
    images = [report for report in reports if report[0] == "images.gz"]
    assert [done for _, done, _ in images] == [*range(100, size, 100), size]
    assert {total for _, _, total in images} == {size}


def test_compressed_anew_the_content_still_counts(site, tmp_path):
    (site / "labels.gz").write_bytes(gzip.compress(CONTENT["labels"], 1, mtime=5))
    assert len(download.download_files(NAMES, tmp_path / "cache", None)) == 2


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (gzip.compress(b"something else"), "sha256 .*; expected"),
        (gzip.compress(CONTENT["labels"])[:-3], "labels.gz"),
        (b"<html>sign in first</html>", "[Nn]ot a gzipped file"),
        (None, "No such file"),
    ],
    ids=["other content", "truncated", "a web page", "missing"],
)
def test_a_wrong_file_is_refused_and_leaves_nothing(site, tmp_path, content, reason):
    if content is None:
        (site / "labels.gz").unlink()
    else:
        (site / "labels.gz").write_bytes(content)
    with pytest.raises(download.DownloadFailure, match=reason):
        download.download_files(NAMES, tmp_path / "cache", None)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["images.gz"]


def test_an_endless_file_is_cut(site, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "_MOST_BYTES", 500)
    with pytest.raises(download.DownloadFailure, match="more than 500 bytes"):
        download.download_files(NAMES, tmp_path / "cache", None)


def test_a_cache_that_cannot_be_written_is_a_reason(site, tmp_path):
    (tmp_path / "cache").write_text("a file, not a directory")
    with pytest.raises(download.DownloadFailure, match="cache"):
        download.download_files(NAMES, tmp_path / "cache", None)


@pytest.mark.skipif(not SYSTEM_DIRECTORY.is_dir(), reason="dataset-fashion-mnist is not installed")
@pytest.mark.parametrize("name", download.SHA256)
def test_the_sums_are_those_of_the_installed_files(name):
    content = gzip.decompress((SYSTEM_DIRECTORY / f"{name}.gz").read_bytes())
    assert hashlib.sha256(content).hexdigest() == download.SHA256[name]
