"""Files are replaced in one step, by as many writers as there are; a cache may fail to be."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rooftile._files import keep, write_atomically
from rooftile.nn import LinearLayer, Network
from tests.support.full_disk import room_for


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


def _network(count):
    return Network([LinearLayer("only", count)], 50).initialise(0)


WRITERS = {
    "weights": lambda path, count: _network(count).save(path),
    "a file": lambda path, count: write_atomically(path, bytes(9000 * count)),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_full_disk_names_the_file_and_leaves_the_old_one(write, tmp_path):
    path = tmp_path / "written"
    with room_for(20_000):
        write(path, 1)
        before = path.read_bytes()
        with pytest.raises(OSError, match="nothing was written") as raised:
            write(path, 500)
    assert raised.value.errno == errno.EFBIG
    assert raised.value.filename == str(path)
    assert raised.value.strerror == "File too large, so nothing was written"
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_devices_and_pipes_are_written_to():
    with pytest.raises(OSError, match="No space left on device") as raised:
        write_atomically(Path("/dev/full"), b"one")
    assert raised.value.filename == "/dev/full"
    write_atomically(Path("/dev/null"), b"one")
    assert not Path("/dev/null").is_file()
    reader, writer = os.pipe()
    write_atomically(Path(f"/dev/fd/{writer}"), b"one")
    assert os.read(reader, 9) == b"one"
    os.close(reader)
    os.close(writer)


def test_a_link_stays_and_so_do_permissions(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_standard_output_without_room_is_one_message():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "rooftile", "list", "models", "--json"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "rooftile: [Errno 28] No space left on device: 'standard output'"
    ]
