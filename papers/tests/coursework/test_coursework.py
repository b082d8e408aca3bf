"""Labs are read, submissions graded in a process of their own, and ranked."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.lab.audit import Foreign
from rooftile.lab.measure.history.store import History
from rooftile_papers.coursework.grading import COMMAND, grade, keep
from rooftile_papers.coursework.labs import LABS, VARIABLE, cases, read_numbers, read_picture
from rooftile_papers.coursework.ranking import ranking

_BESIDE = Path(__file__).parents[3] / ".." / "shared" / "course-labs"
RIGHT = "def kernel(x, y, out):\n    out[:] = x + y\n"
WRONG = {
    "the result is wrong": "def kernel(x, y):\n    return x - y\n",
    "it changed x": "def kernel(x, y):\n    x += y\n    return x.copy()\n",
    "it ": "import os\ndef kernel(x, y):\n    os._exit(3)\n",
}


def numbers(path, values):
    lines = [str(len(values)), *(f"{value:g}" for value in values)]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


@pytest.fixture
def data(tmp_path):
    """Two data sets of vector_add."""
    for name, size in (("0", 5), ("1", 300)):
        folder = tmp_path / "labs" / "vector_add" / name
        folder.mkdir(parents=True)
        x, y = np.arange(size) / 2, np.arange(size) + 1.5
        for file, values in (("input0", x), ("input1", y), ("output", x + y)):
            numbers(folder / f"{file}.raw", values)
    return tmp_path / "labs"


@pytest.fixture
def submission(tmp_path):
    def made(text, name="mine"):
        path = tmp_path / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        return Foreign.parse(f"{path}:kernel", "cpu")

    return made


def test_a_right_submission_passes_with_a_time(data, submission):
    grades = grade(submission(RIGHT), cases("vector_add", data))
    assert [(one.case.name, one.passed) for one in grades] == [("0", True), ("1", True)]
    assert all(one.time_ms.median > 0 for one in grades)


@pytest.mark.parametrize(("reason", "text"), WRONG.items())
def test_a_wrong_submission_fails_with_its_reason(data, submission, reason, text):
    grades = grade(submission(text), cases("vector_add", data))
    assert len(grades) == 2
    assert all(one.reason.startswith(reason) and one.time_ms is None for one in grades)


def test_the_fastest_who_pass_everything_are_ranked(data, submission, tmp_path):
    sets = cases("vector_add", data)
    right = grade(submission(RIGHT), sets)
    slower = [
        dataclasses.replace(one, time_ms=dataclasses.replace(one.time_ms, median=1e6))
        for one in right
    ]
    failed = [dataclasses.replace(right[0], reason="wrong", time_ms=None), right[1]]
    with History(tmp_path / "history.sqlite") as history:
        for name, grades in (("slow", slower), ("fast", slower), ("fast", right), ("no", failed),
                             ("half", right[:1])):  # fmt: skip
            keep(history, "vector_add", name, submission(RIGHT), grades)
        places = ranking(history.records(command=COMMAND), "vector_add")
        assert ranking(history.records(command=COMMAND), "matmul") == []
    assert [(one.name, one.submissions) for one in places] == [("fast", 2), ("slow", 1)]
    assert places[0].total_ms == pytest.approx(sum(one.time_ms.median for one in right))


@pytest.mark.parametrize("lab", LABS)
def test_the_courses_data_sets_are_read_and_our_references_agree(lab):
    place = Path(os.environ.get(VARIABLE) or _BESIDE)
    if not (place / lab).is_dir():
        pytest.skip(f"no folder {lab} in {VARIABLE}, nor in ../shared/course-labs")
    for case in cases(lab, place)[:2]:
        result = np.asarray(case.problem.reference(*case.given))
        assert case.agrees(result), case.name
        assert not case.agrees(result.astype(np.float64) + 2), case.name


def test_files_that_are_no_data_are_refused(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    short = tmp_path / "short.raw"
    short.write_text("3\n1\n2\n", encoding="ascii")
    with pytest.raises(InputError, match="sizes"):
        read_numbers(short)
    with pytest.raises(InputError, match="P6"):
        read_picture(short)
    with pytest.raises(InputError, match="vector_add"):
        cases("nonsense")
    with pytest.raises(InputError, match=VARIABLE):
        cases("matmul")
    with pytest.raises(InputError, match="data sets"):
        cases("matmul", tmp_path)


def test_a_picture_has_rows_and_colours(tmp_path):
    path = tmp_path / "small.ppm"
    path.write_bytes(b"P6\n#by hand\n2 1\n255\n" + bytes(range(6)) + b"\n")
    assert read_picture(path).tolist() == [[[0, 1, 2], [3, 4, 5]]]
