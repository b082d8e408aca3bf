"""Memory that goes back to the driver when nobody holds it, by a driver that is made up."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from rooftile.devices.cuda import driver as library
from rooftile.devices.cuda import memory

OWN, OTHER, STREAM = 2**45 + 16, 2**45 + 32, 2**46 + 8


class Driver:
    """Gives memory of the host, and notes what becomes of it."""

    def __init__(self):
        self.context, self.ordered, self.threshold = OWN, 1, 0
        self.live, self.freed, self.contexts = {}, [], []

    def __getitem__(self, name):
        return getattr(self, name)

    def cuDeviceGetAttribute(self, to, number, device):
        to._obj.value = self.ordered
        return 0

    def cuDeviceGetMemPool(self, to, device):
        to._obj.value = 2**44
        return 0

    def cuMemPoolGetAttribute(self, pool, number, to):
        to._obj.value = self.threshold
        return 0

    def cuMemPoolSetAttribute(self, pool, number, to):
        self.threshold = to._obj.value
        return 0

    def _give(self, to, size):
        held = np.empty(size.value, np.uint8)
        to._obj.value = held.ctypes.data
        self.live[held.ctypes.data] = held
        return 0

    def _take(self, how, address, *more):
        self.freed.append((how, *(one.value for one in more)))
        self.contexts.append(self.context)
        del self.live[address.value]
        return 0

    def cuMemAllocAsync(self, to, size, stream):
        return self._give(to, size)

    def cuMemAlloc_v2(self, to, size):
        return self._give(to, size)

    def cuMemAllocHost_v2(self, to, size):
        return self._give(to, size)

    def cuMemFreeAsync(self, address, stream):
        return self._take("in a stream's order", address, stream)

    def cuMemFree_v2(self, address):
        return self._take("at once", address)

    def cuMemFreeHost(self, address):
        return self._take("the host's", address)


@pytest.fixture
def driver(monkeypatch):
    made = Driver()
    for module in (library, memory):
        monkeypatch.setattr(module, "library", lambda: made)
    monkeypatch.setattr(memory, "current_context", lambda: made.context)
    monkeypatch.setattr(memory, "set_context", lambda to: setattr(made, "context", to))
    return made


def test_memory_is_freed_in_the_order_of_its_stream_whoever_drops_it(driver):
    pool = memory.MemoryPool(0, OWN)
    held = pool.allocate(100, STREAM)
    assert held.handle in driver.live
    driver.context = OTHER
    del held
    assert not driver.live
    assert driver.freed == [("in a stream's order", STREAM)]
    # The thread that dropped it has its own context again.
    assert (driver.contexts, driver.context) == ([OWN], OTHER)


@pytest.mark.parametrize(("before", "after"), [(0, 2**64 - 1), (4096, 4096)])
def test_the_pool_keeps_what_nobody_uses_unless_somebody_said_how_much(driver, before, after):
    driver.threshold = before
    memory.MemoryPool(0, OWN)
    assert driver.threshold == after


def test_without_pools_memory_belongs_to_no_stream(driver):
    driver.ordered = 0
    held = memory.MemoryPool(0, OWN).allocate(100, STREAM)
    assert held.handle in driver.live
    del held
    assert driver.freed == [("at once",)]


def test_arrays_keep_page_locked_memory(driver):
    array = np.asarray(memory.Pinned(24, OWN)).view(np.float32)
    array[:] = range(6)
    part = array[2:4]
    del array
    gc.collect()
    np.testing.assert_array_equal(part, [2, 3])
    assert driver.live
    del part
    assert driver.freed == [("the host's",)]


def test_a_refusal_leaves_nothing_behind(driver, monkeypatch):
    monkeypatch.setattr(driver, "cuMemAllocAsync", lambda *_: 2, raising=False)
    monkeypatch.setattr(library, "name_of", lambda code: "CUDA_ERROR_OUT_OF_MEMORY")
    with pytest.raises(RuntimeError, match="OUT_OF_MEMORY"):
        memory.MemoryPool(0, OWN).allocate(100, STREAM)
    assert not driver.freed
