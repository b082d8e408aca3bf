"""A GPU's context is made by a thread, which leaves all errors to whoever opens the GPU."""

from __future__ import annotations

import pytest

from rooftile.devices.cuda import waking as module
from rooftile.devices.cuda.waking import waking


@pytest.fixture(autouse=True)
def asleep():
    waking.cache_clear()
    yield
    waking.cache_clear()


class Driver:
    """Notes what is called; each function gives a code."""

    def __init__(self, **codes):
        self.codes, self.called = codes, []

    def __getattr__(self, name):
        def call(*arguments):
            self.called.append((name, arguments))
            return self.codes.get(name, 0)

        return call


def test_the_context_is_made_once_and_kept(monkeypatch):
    driver = Driver()
    monkeypatch.setattr(module.ctypes, "CDLL", lambda _: driver)
    assert waking(1) is waking(1)
    waking(1).join()
    (_, (flags,)), (_, (_, index)), _ = driver.called
    assert [name for name, _ in driver.called] == [
        "cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain",
    ]  # fmt: skip
    assert (flags, index) == (0, 1)


@pytest.mark.parametrize(("fails", "called"), [("cuInit", 1), ("cuDeviceGet", 2)])
def test_nothing_is_made_where_there_is_none(monkeypatch, fails, called):
    driver = Driver(**{fails: 100})
    monkeypatch.setattr(module.ctypes, "CDLL", lambda _: driver)
    waking(0).join()
    assert len(driver.called) == called


def test_a_missing_driver_is_no_error_here(monkeypatch):
    def missing(_):
        raise OSError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(module.ctypes, "CDLL", missing)
    waking(0).join()
