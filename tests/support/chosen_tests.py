"""``pytest --concerned``: the tests that a change concerns, a tenth of all where there is none.

A change is what differs from where the branch left the remote's main one, in the working tree too.
It concerns the tests in the folder that mirrors its own, or in the nearest one above it; a changed
test module concerns itself; what lies outside of ``src`` and ``tests``, such as a page of the
documentation, concerns the modules that lie in ``tests`` itself.
"""

from __future__ import annotations

import subprocess
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import pytest

SHARE = 10
"""One test in so many is a representative share."""


def pytest_addoption(parser):
    parser.addoption(
        "--concerned", action="store_true",
        help=f"only tests that a change concerns, at most one in {SHARE} of all; such a share of "
        "all where nothing has changed",
    )  # fmt: skip


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if not config.getoption("concerned"):
        return
    tests = config.rootpath / "tests"
    places = {place_of(path, tests) for path in changes(config.rootpath)}
    wanted = set(chosen({item.nodeid: item.path for item in items}, places))
    config.hook.pytest_deselected(items=[i for i in items if i.nodeid not in wanted])
    items[:] = [item for item in items if item.nodeid in wanted]


def changes(root: Path) -> list[str]:
    """Paths that differ from the main branch; none where git cannot say."""
    base = _git(root, "merge-base", "HEAD", "origin/HEAD") or ["HEAD"]
    changed = _git(root, "diff", "--name-only", "--relative", base[0])
    return changed + _git(root, "ls-files", "--others", "--exclude-standard")


def _git(root: Path, *arguments: str) -> list[str]:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    except OSError:
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []


def place_of(path: str, tests: Path) -> Path:
    """The test module that changed, else the folder whose tests a path concerns."""
    first, *parts = PurePosixPath(path).parts
    if first == "tests" and parts[-1].startswith("test_"):
        return tests.joinpath(*parts)
    if first == "papers":
        return tests.parent / "papers" / "tests"
    # After the package's name in ``src``.
    folders = {"src": parts[1:-1], "tests": parts[:-1]}.get(first, [])
    place = tests.joinpath(*folders)
    while not place.is_dir():
        place = place.parent
    return place


def chosen(tests: dict[str, Path], places: set[Path]) -> list[str]:
    """Names of tests, of a folder's those below it too; of ``tests`` itself those beside it."""
    top = {place for place in places if place.name == "tests"}
    below = places - top
    concerned = [
        name
        for name, path in tests.items()
        if path.parent in top or path in below or below & set(path.parents)
    ]
    most = -(-len(tests) // SHARE)
    return fewest(concerned or tests, most)


def fewest(names: Iterable[str], most: int) -> list[str]:
    """So many of them, in no order that their names know of, and the same ones each time."""
    return sorted(names, key=lambda name: (zlib.crc32(name.encode()), name))[:most]
