"""Files are replaced in one step, by as many writers as there are; a cache may fail to be."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rooftile._files import keep, write_atomically


def _fail(*_: object) -> None:
    raise OSError("no space")


@pytest.mark.parametrize(("owner", "step"), [(os, "fsync"), (Path, "replace")])
def test_a_failed_write_leaves_the_old_file(owner, step, tmp_path, monkeypatch):
    path = tmp_path / "deep" / "file"
    write_atomically(path, b"old")
    monkeypatch.setattr(owner, step, _fail)
    with pytest.raises(OSError, match="no space"):
        write_atomically(path, b"new")
    keep(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


def test_many_writers_leave_one_whole_file(tmp_path):
    path = tmp_path / "file"
    contents = [bytes([k]) * 100_000 for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: write_atomically(path, content), contents))
    assert path.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_as_readable_as_any_new_one(tmp_path):
    written, other = tmp_path / "written", tmp_path / "other"
    keep(written, b"")
    other.touch()
    assert written.stat().st_mode == other.stat().st_mode
