"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file in one step: a reader sees the old one or the whole new one.

    Its directory is made where it is missing. A link stays, and the file that it leads to is
    replaced; a pipe or a device is written to. Raises `OSError` with the file's name and the cause,
    a full disk for example; the old content is then unchanged.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as device:
                device.write(content)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path.resolve(), content)
    except OSError as error:
        if error.errno is None:
            raise
        # What fails while it writes names no file, or the draft.
        raise OSError(
            error.errno, f"{error.strerror}, so nothing was written", str(path)
        ) from error


def is_full(error: BaseException) -> bool:
    """True if a disk, a quota or a limit of the process left no room for a file."""
    return getattr(error, "errno", None) in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def _replace(path: Path, content: bytes) -> None:
    draft = path.with_name(f"{path.name}.{os.urandom(16).hex()}")
    try:
        # As readable as any new file, which one of `tempfile` is not.
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            draft.chmod(stat.S_IMODE(path.stat().st_mode))
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def keep(path: Path, content: bytes) -> None:
    """The same for a cache: one that cannot be written is no reason to fail."""
    with contextlib.suppress(OSError):
        write_atomically(path, content)


_SEAL_BYTES = hashlib.sha256().digest_size


def keep_sealed(path: Path, content: bytes) -> None:
    """`keep` with a hash of the file's name and content behind it, for `sealed`."""
    keep(path, content + _seal(path, content))


def sealed(path: Path) -> bytes | None:
    """The content of a file of `keep_sealed`; None where there is no such file, or where it is not
    as it was written, or was written under another name."""
    with contextlib.suppress(OSError):
        kept = path.read_bytes()
        content, seal = kept[:-_SEAL_BYTES], kept[-_SEAL_BYTES:]
        if seal == _seal(path, content):
            return content
    return None


def _seal(path: Path, content: bytes) -> bytes:
    return hashlib.sha256(path.name.encode() + b"\0" + content).digest()
