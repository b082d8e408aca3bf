"""Fashion-MNIST's files from its own site, checked, into the user's cache."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pooch

URL = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"

SHA256 = {
    "t10k-images-idx3-ubyte": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "t10k-labels-idx1-ubyte": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    "train-images-idx3-ubyte": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "train-labels-idx1-ubyte": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
}
"""Hashes of the site's ``<name>.gz``, compressed as they are there."""

Report = Callable[[str, int, int | None], None]
"""``report(file, bytes so far, bytes in all)``; the last is None where the site does not say."""

_TIMEOUT = 20.0
"""Seconds without an answer that end a download."""
PIECE = 2**16
MOST_BYTES = 2**26
"""None of the files is longer, so an answer that is longer is none of them."""


class DownloadFailure(Exception):
    """Why a download did not work; not an error of rooftile while there is a sample."""


def download_files(
    names: tuple[str, str], directory: Path, report: Report | None
) -> tuple[Path, Path]:
    """Fetch ``<name>.gz`` for both names into a directory, where they are not there already.

    Raises `DownloadFailure`; no file appears that is not whole and right.
    """
    registry = {f"{name}.gz": f"sha256:{known}" for name, known in SHA256.items()}
    site, logger = pooch.create(directory, URL, registry=registry), pooch.get_logger()
    level = logger.level
    # The caller is told of the progress by `report`.
    logger.setLevel(logging.WARNING)
    try:
        images, labels = (_fetch(site, f"{name}.gz", report) for name in names)
    finally:
        logger.setLevel(level)
    return images, labels


def _fetch(site: pooch.Pooch, file: str, report: Report | None) -> Path:
    progress = _Progress(file, report)
    downloader = pooch.HTTPDownloader(progress, PIECE, timeout=_TIMEOUT)
    try:
        return Path(site.fetch(file, downloader=downloader))
    except (OSError, ValueError) as error:
        raise DownloadFailure(f"{URL}{file}: {error}") from error


class _Progress:
    """pooch's progress of a download, passed on; it ends a download that is too long."""

    def __init__(self, file: str, report: Report | None) -> None:
        self.total, self._done, self._file, self._report = 0, 0, file, report

    def update(self, count: int) -> None:
        """``count`` more bytes have come; of the last piece pooch counts a whole one."""
        self._done += count
        if self._done > MOST_BYTES + PIECE:
            raise ValueError(f"more than {MOST_BYTES} bytes")
        if self._report is not None:
            done = min(self._done, self.total) if self.total else self._done
            self._report(self._file, done, self.total or None)

    def reset(self) -> None:
        """Pooch counts all bytes once more at the end."""
        self._done = 0

    def close(self) -> None:
        """There is nothing to close."""
