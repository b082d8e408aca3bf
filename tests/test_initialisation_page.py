"""The page's table of first weights is that of the script's tasks, and says what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from rooftile.nn.initialisation import DEFAULT, RULES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "do" / "training.md").read_text("utf-8")


@pytest.fixture(scope="module")
def script(benchmark_script):
    return benchmark_script("initialisation")


def rows():
    _, _, rest = PAGE.partition("<!-- initialised: begin -->")
    lines = [line for line in rest.partition("<!-- initialised: end -->")[0].splitlines() if line]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    return cells[0], {row[0]: row[1:] for row in cells[2:]}


def test_the_default_learns_every_task_of_the_page(script):
    head, found = rows()
    place = head.index(f"`{DEFAULT}`") - 1
    assert list(found) == [*(task.name for task in script.TASKS), "learns"]
    assert len(script.TASKS) == 10
    assert found["learns"][place] == "10 of 10"
    for task in script.TASKS:
        constant = float(found[task.name][0])
        assert constant == pytest.approx(task.constant(), abs=1e-3)
        assert float(found[task.name][place]) <= 0.5 * constant
    assert [name.strip("`") for name in head[2:6]] == list(RULES)


def test_a_task_is_trained_by_what_is_chosen(script, monkeypatch):
    task = script.TASKS[9]
    monkeypatch.setitem(task.options, "epochs", 1)
    table = script.table((task,))
    assert len(table) == 4
    assert table[-1].count("0 of 1") == len(script._CHOICES)
    assert task.loss({"learning_rate": 1e9}) == float("inf")
