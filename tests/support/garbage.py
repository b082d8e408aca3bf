"""Ways to spoil a file of a cache: ``GARBAGE[kind](path, paths of its kind)``."""

from __future__ import annotations

import os


def _directory(path, _):
    path.unlink()
    path.mkdir()


def _link(path, _):
    path.unlink()
    path.symlink_to(path.with_name(f"{path.name}.none"))


def _exchange(path, others):
    """The next file of the same kind in its place, which is whole."""
    other = others[(others.index(path) + 1) % len(others)]
    path.write_bytes(other.read_bytes() if other != path else b"x86-64\n+64bit")


GARBAGE = {
    "empty": lambda path, _: path.write_bytes(b""),
    "truncated": lambda path, _: path.write_bytes(path.read_bytes()[:-7]),
    "random": lambda path, _: path.write_bytes(os.urandom(500)),
    "zeros": lambda path, _: path.write_bytes(bytes(path.stat().st_size)),
    "no text of ours": lambda path, _: path.write_bytes(b"x86-64\n-64bit,+avx512f"),
    "exchanged": _exchange,
    "a directory": _directory,
    "a link to nothing": _link,
    "unreadable": lambda path, _: path.chmod(0),
}
