"""Seconds of processors are counted for the module that took them, and the most are listed."""

from types import SimpleNamespace

import pytest

from tests.support import busiest


@pytest.fixture
def config():
    made = SimpleNamespace(stash=pytest.Stash(), getoption=lambda name: 1)
    busiest.pytest_configure(made)
    return made


def test_seconds_of_processes_are_added_and_the_most_are_told(config, monkeypatch):
    spent = iter((1.0, 3.5, 4.0, 4.25))
    monkeypatch.setattr(busiest, "_spent", lambda: next(spent))
    for name in ("first.py::test_a", "second.py::test_b"):
        around = busiest.pytest_runtest_protocol(SimpleNamespace(config=config, nodeid=name))
        next(around)
        with pytest.raises(StopIteration):
            around.send(True)
    node = SimpleNamespace(config=config, workeroutput={"busiest": {"second.py": 5.0}})
    busiest.pytest_testnodedown(node)
    lines = []
    busiest.pytest_terminal_summary(SimpleNamespace(write_line=lines.append), config)
    assert lines == ["8 seconds of processors in all", "     5.2 s  second.py"]
