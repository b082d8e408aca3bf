"""Which tests ``--concerned`` chooses."""

import subprocess
from pathlib import Path

import pytest

from tests.support.chosen_tests import changes, chosen, fewest, place_of

ROOT = Path(__file__).parent


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("src/rooftile/devices/select.py", "devices"),
        ("src/rooftile/strategies/conv2d/gpu/naive.cu", "strategies/conv2d/gpu"),
        ("src/rooftile/strategies/conv2d/none_there/naive.cu", "strategies/conv2d"),
        ("src/rooftile/_version.py", "."),
        ("tests/devices/test_select.py", "devices/test_select.py"),
        ("tests/strategies/strategy_cases.py", "strategies"),
        ("tests/emulation/shim.h", "emulation"),
        ("docs/understand/kernels.md", "."),
        ("README.md", "."),
    ],
)
def test_the_place_of_a_change(path, place):
    assert place_of(path, ROOT) == ROOT / place


def test_a_change_concerns_its_folder_and_what_is_below():
    tests = {
        f"{folder}::{n}": ROOT / folder
        for folder in ("a/test_x.py", "a/b/test_y.py", "c/test_z.py", "test_top.py")
        for n in range(10)
    }
    assert {name[0] for name in chosen(tests, {ROOT / "a"})} == {"a"}
    assert {name[:12] for name in chosen(tests, {ROOT / "a/b"})} == {"a/b/test_y.p"}
    assert {name[:12] for name in chosen(tests, {ROOT / "a/test_x.py"})} == {"a/test_x.py:"}
    assert {name[:4] for name in chosen(tests, {ROOT})} == {"test"}
    assert len(chosen(tests, {ROOT / "a"})) == 4


def test_without_a_change_a_tenth_of_every_kind_is_chosen():
    tests = {f"{kind}{n}": ROOT / "x" for kind in "abcd" for n in range(1000)}
    few = chosen(tests, set())
    assert len(few) == 400
    assert all(50 < sum(name[0] == kind for name in few) < 150 for kind in "abcd")
    assert few == chosen(dict(reversed(tests.items())), set())


def test_another_test_hardly_changes_the_choice():
    names = [str(n) for n in range(100)]
    assert len(set(fewest(names, 10)) - set(fewest([*names, "another"], 10))) <= 1


def test_changes_are_those_since_the_main_branch(tmp_path):
    def git(*arguments):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    def write(name, text):
        (tmp_path / name).write_text(text)

    assert changes(tmp_path) == []
    git("init", "--initial-branch=main")
    for name in ("committed", "edited", "same"):
        write(name, "before")
    git("add", ".")
    git("commit", "--message=first")
    assert changes(tmp_path) == []
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    write("committed", "after")
    git("commit", "--all", "--message=second")
    write("edited", "after")
    write("added", "after")
    assert changes(tmp_path) == ["committed", "edited", "added"]
