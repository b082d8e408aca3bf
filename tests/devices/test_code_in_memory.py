"""Machine code of kernels is in memory as long as somebody may run it, and no longer."""

from __future__ import annotations

import functools
import gc
import importlib
import pkgutil
import threading

import numpy as np
import pytest

import rooftile.functional
import rooftile.strategies
from rooftile.devices import cpu
from rooftile.devices.cpu.native import last_kernels, source
from rooftile.devices.cpu.native.build import code_bytes

_TEXT = """
def kernel(x, out, sizes, begin, end):
    for k in range(begin, end):
        out[k] = x[k] + float32({added})
"""
_LONG = """
def kernel(x, out, sizes, begin, end):
    state = int64(x[0])
    for k in range(sizes[0]):
        state = (state * 25173 + 13849) % 65536
    out[0] = float32(state)
"""
_MOST = last_kernels(len).cache_parameters()["maxsize"]


def _adding(number: int) -> cpu.Spread:
    return cpu.Spread(source("adding", _TEXT.format(added=number)), ("float32", "float32"))


def _sum(run: cpu.Spread) -> float:
    out = np.zeros(1, np.float32)
    run((np.ones(1, np.float32), out), cpu.sizes_of(0), 1, 1)
    return float(out[0])


@pytest.fixture(autouse=True)
def team_is_loaded() -> None:
    """The first run loads the code of the team, which stays."""
    _sum(_adding(99))


def _code_bytes() -> int:
    gc.collect()
    return code_bytes()


def test_code_of_a_kernel_that_nobody_has_is_freed() -> None:
    before = _code_bytes()
    runs = [_adding(number) for number in range(5)]
    assert [_sum(run) for run in runs] == [1, 2, 3, 4, 5]
    assert _code_bytes() > before
    del runs
    assert _code_bytes() == before


def test_two_kernels_of_one_text_have_one_code() -> None:
    one = _adding(7)
    _sum(one)
    held = _code_bytes()
    other = _adding(7)
    assert _sum(other) == _sum(one) == 8
    assert _code_bytes() == held


def test_of_kernels_that_are_made_for_sizes_the_last_ones_stay() -> None:
    made = last_kernels(_adding)
    before = _code_bytes()
    for number in range(100, 100 + _MOST):
        assert _sum(made(number)) == number + 1
    full = _code_bytes()
    held = made(100)
    for number in range(100 + _MOST, 120 + _MOST):
        assert _sum(made(number)) == number + 1
    # The one that is held is the last but 20 of those that were asked for.
    assert _code_bytes() == full
    # It was dropped, and has its code while it is held.
    for number in range(300, 300 + _MOST):
        made(number)
    assert _sum(held) == 101
    made.cache_clear()
    assert before < _code_bytes() < full
    del held
    assert _code_bytes() == before


def test_code_stays_while_a_thread_runs_it() -> None:
    """The call holds what it runs, also where every other reference is dropped meanwhile."""
    before, found = _code_bytes(), np.zeros(1, np.float32)
    started, rounds = threading.Event(), 60_000_000

    def run() -> None:
        spread = cpu.Spread(source("long", _LONG), ("float32", "float32"))
        spread((np.ones(1, np.float32), found), cpu.sizes_of(1), 1, 1)
        started.set()
        spread((np.ones(1, np.float32), found), cpu.sizes_of(rounds), 1, 1)

    thread = threading.Thread(target=run)
    thread.start()
    started.wait()
    gc.collect()
    assert code_bytes() > before or not thread.is_alive()
    thread.join()
    # The generator repeats after 65,536 numbers.
    state = 1
    for _ in range(rounds % 65536):
        state = (state * 25173 + 13849) % 65536
    assert found[0] == state
    assert _code_bytes() == before


def test_no_cache_keeps_kernels_without_end() -> None:
    """A function that makes kernels for sizes, texts or problems keeps the last ones."""
    endless, caches = [], 0
    for package in (rooftile.strategies, rooftile.functional):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".gpu" in module.name:
                continue
            for name, found in vars(importlib.import_module(module.name)).items():
                if not isinstance(found, functools._lru_cache_wrapper):
                    continue
                made = found.__wrapped__.__annotations__.get("return")
                if made not in ("Native", "cpu.Spread", "CpuKernel"):
                    continue
                caches += 1
                code = found.__wrapped__.__code__
                if found.cache_parameters()["maxsize"] is None and code.co_argcount:
                    endless.append(f"{module.name}.{name}")
    assert caches > 30
    assert not endless
