"""``pytest --busiest=20``: the test modules that took the most seconds of processors, at the end.

All threads and child processes count, such as a compiler's, and those of each of xdist's processes.
Other work on the machine lengthens these seconds less than the clock's, so that they tell what
makes ``make test`` slow.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

_SECONDS = pytest.StashKey[Counter]()


def pytest_addoption(parser):
    about = "list N test modules with the most seconds of processors"
    parser.addoption("--busiest", type=int, default=0, metavar="N", help=about)


def pytest_configure(config):
    config.stash[_SECONDS] = Counter()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    before = _spent()
    try:
        return (yield)
    finally:
        item.config.stash[_SECONDS][item.nodeid.partition("::")[0]] += _spent() - before


def _spent() -> float:
    """Seconds of processors that this process and its ended children have taken so far."""
    return sum(os.times()[:4])


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["busiest"] = dict(session.config.stash[_SECONDS])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    node.config.stash[_SECONDS].update(getattr(node, "workeroutput", {}).get("busiest", {}))


def pytest_terminal_summary(terminalreporter, config):
    seconds = config.stash[_SECONDS]
    if most := config.getoption("busiest"):
        terminalreporter.write_line(f"{seconds.total():.0f} seconds of processors in all")
        for module, taken in seconds.most_common(most):
            terminalreporter.write_line(f"{taken:8.1f} s  {module}")
