"""Fashion-MNIST's files from its own site, checked, into the user's cache."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import urllib.request
import zlib
from collections.abc import Callable
from pathlib import Path

from rooftile._files import write_atomically

URL = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"

SHA256 = {
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
}
"""Hashes of the decompressed files: distributions compress the same content anew, so the bytes
of the ``.gz`` differ from one place to another."""

Report = Callable[[str, int, int | None], None]
"""``report(file, bytes so far, bytes in all)``; the last is None where the site does not say."""

_TIMEOUT = 20.0
"""So many seconds without an answer end a download."""
_PIECE = 2**16
_MOST_BYTES = 2**26
"""None of the files is longer, so an answer that is longer is none of them."""


class DownloadFailure(Exception):
    """Why a download did not work; not an error of rooftile while there is a sample."""


def download_files(
    names: tuple[str, str], directory: Path, report: Report | None
) -> tuple[Path, Path]:
    """Fetch ``<name>.gz`` for both names, check their content, put them into a directory.

    Raises `DownloadFailure`; no file appears that is not whole and right.
    """
    images, labels = names
    return _download(images, directory, report), _download(labels, directory, report)


def _download(name: str, directory: Path, report: Report | None) -> Path:
    address, path = f"{URL}{name}.gz", directory / f"{name}.gz"
    try:
        compressed = _fetch(address, report)
        found = hashlib.sha256(gzip.decompress(compressed)).hexdigest()
        if found != SHA256[name]:
            raise DownloadFailure(f"{address}: sha256 {found}; expected {SHA256[name]}")
        write_atomically(path, compressed)
    except (OSError, EOFError, ValueError, zlib.error, http.client.HTTPException) as error:
        raise DownloadFailure(f"{address}: {error}") from error
    return path


def _fetch(address: str, report: Report | None) -> bytes:
    """The bytes behind an address."""
    file = address.rpartition("/")[2]
    with urllib.request.urlopen(address, timeout=_TIMEOUT) as response:
        length = response.headers.get("Content-Length")
        total = int(length) if length is not None else None
        pieces, done = [], 0
        while piece := response.read(_PIECE):
            pieces.append(piece)
            done += len(piece)
            if done > _MOST_BYTES:
                raise ValueError(f"more than {_MOST_BYTES} bytes")
            if report is not None:
                report(file, done, total)
        if total is not None and done != total:
            raise ValueError(f"{done} bytes of {total}")
    return b"".join(pieces)
