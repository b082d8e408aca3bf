from __future__ import annotations

import gzip
import hashlib
import http.server
import socket
import threading
from functools import partial

import pytest

from rooftile.nn.data import download

NAMES = ("images", "labels")
CONTENT = {"images": bytes(range(256)) * 999, "labels": b"labels"}


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A local site that serves a directory, and the right sums of its files."""
    directory = tmp_path / "site"
    directory.mkdir()
    for name, content in CONTENT.items():
        (directory / f"{name}.gz").write_bytes(gzip.compress(content))
    sums = {
        path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.iterdir()
    }
    monkeypatch.setattr(download, "SHA256", sums)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with http.server.HTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=directory)) as server:
        monkeypatch.setattr(download, "URL", f"http://127.0.0.1:{server.server_port}/")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield directory
        server.shutdown()
        thread.join()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_both_files_arrive_and_progress_is_reported(site, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(download, "PIECE", 100)
    reports = []
    paths = download.download_files(NAMES, tmp_path / "cache", lambda *r: reports.append(r))
    assert [gzip.decompress(path.read_bytes()) for path in paths] == list(CONTENT.values())
    size = (site / "images.gz").stat().st_size
    images = [report for report in reports if report[0] == "images.gz"]
    assert [done for _, done, _ in images] == [*range(100, size, 100), size, size]
    assert {total for _, _, total in images} == {size}
    assert capfd.readouterr() == ("", "")


def test_a_file_that_is_there_is_not_fetched_again(site, tmp_path):
    download.download_files(NAMES, tmp_path / "cache", None)
    (site / "images.gz").unlink()
    (tmp_path / "cache" / "labels.gz").write_bytes(b"damaged")
    _, labels = download.download_files(NAMES, tmp_path / "cache", None)
    assert gzip.decompress(labels.read_bytes()) == CONTENT["labels"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (gzip.compress(b"something else"), "hash .*labels.gz.* does not match"),
        (gzip.compress(CONTENT["labels"])[:-3], "labels.gz.* does not match"),
        (b"<html>sign in first</html>", "labels.gz.* does not match"),
        (None, "404"),
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
    monkeypatch.setattr(download, "MOST_BYTES", 500)
    monkeypatch.setattr(download, "PIECE", 100)
    with pytest.raises(download.DownloadFailure, match="more than 500 bytes"):
        download.download_files(NAMES, tmp_path / "cache", None)


def test_a_cache_that_cannot_be_written_is_a_reason(site, tmp_path):
    (tmp_path / "cache").write_text("a file, not a directory")
    with pytest.raises(download.DownloadFailure, match="cache"):
        download.download_files(NAMES, tmp_path / "cache", None)


def test_a_site_that_nobody_reaches_is_a_reason(site, tmp_path, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setattr(download, "URL", f"http://127.0.0.1:{free.getsockname()[1]}/")
        with pytest.raises(download.DownloadFailure, match=r"images\.gz: .*refused"):
            download.download_files(NAMES, tmp_path / "cache", None)
    assert not any((tmp_path / "cache").iterdir())
