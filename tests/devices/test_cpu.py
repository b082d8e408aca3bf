"""The host's processor: memory, generated source, the writer, threads."""

import importlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from rooftile.devices import cpu
from rooftile.devices.cpu import memory, parallel
from rooftile.devices.cpu.emit import Writer
from rooftile.errors import OutOfMemory


@njit(nogil=True, cache=False)
def mark(x, weights, bias, out, scratch, sizes, begin, end):
    """Each unit counts its visits; each thread leaves its number of units in its scratch."""
    for unit in range(begin, end):
        out[unit] += x[unit] + weights[0] * bias[0] + sizes[0]
    scratch[0] += end - begin


@njit(nogil=True, cache=False)
def add_up(halves, octets, out, sizes, begin, end):
    for unit in range(begin, end):
        out[unit] = halves[unit] + octets[unit] + sizes[0]


@pytest.mark.parametrize("count", [1, 15, 16, 17, 100003])
def test_buffers_are_aligned_and_whole(count):
    buffer = cpu.allocate(count)
    assert buffer.dtype == np.float32
    assert buffer.shape == (count,)
    assert buffer.ctypes.data % memory.ALIGNMENT == 0
    buffer[:] = 1
    assert buffer.sum() == count


def test_a_buffer_larger_than_the_memory_is_refused(monkeypatch):
    with pytest.raises(OutOfMemory, match="a plan needs") as caught:
        cpu.allocate(2**50, "a plan")
    assert caught.value.asked > caught.value.free > 0
    monkeypatch.setattr(memory, "free_bytes", lambda: 2**24)
    with pytest.raises(OutOfMemory):
        cpu.allocate(2**23)


def test_free_memory_is_a_part_of_all():
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < cpu.free_bytes() <= physical


def test_source_is_a_real_file_loaded_once():
    text = "def answer():\n    return 42\n"
    module = cpu.load("answer", text)
    assert module.answer() == 42
    assert cpu.load("answer", text) is module
    assert Path(module.__file__).read_text(encoding="utf-8") == text
    assert "answer" in os.path.basename(module.__file__)


def test_another_text_or_another_module_that_it_imports_is_another_file(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    files = set()
    for imported in ("value = 3\n", "value = 4\n"):
        (tmp_path / "rooftile_probe.py").write_text(imported)
        for n in (1, 2):
            text = f"from rooftile_probe import value\nn = {n}\n"
            module = cpu.load("many", text)
            assert cpu.load("many", text) is module
            assert module.n == n
            files.add(module.__file__)
    assert len(files) == 4


def test_another_source_of_a_kernel_is_another_entry(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    files = []
    for body in ("pass", "return"):
        (tmp_path / "foreign.py").write_text(
            f"from numba import njit\n@njit\n"
            f"def kernel(x, weights, bias, out, scratch, sizes, begin, end): {body}\n"
        )
        monkeypatch.delitem(sys.modules, "foreign", raising=False)
        importlib.invalidate_caches()
        files.append(cpu.layer_entry(importlib.import_module("foreign").kernel).file)
    assert files[0] != files[1]


def test_source_that_does_not_run_is_not_remembered():
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            cpu.load("broken", "1 / 0\n")


LOAD = "from rooftile.devices import cpu; print(cpu.load('where', 'x = 1').__file__)"


def test_the_cache_follows_the_environment(tmp_path):
    environment = os.environ | {"ROOFTILE_CACHE": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", LOAD], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.startswith(str(tmp_path))


def test_a_cache_that_cannot_be_written_is_replaced(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    environment = os.environ | {"ROOFTILE_CACHE": str(blocked)}
    run = subprocess.run(
        [sys.executable, "-c", LOAD], env=environment, capture_output=True, text=True, check=True
    )
    assert not run.stdout.startswith(str(blocked))


def test_the_writer_indents_blocks_and_drops_loops_of_one():
    to = Writer()
    with to.block("def f():"):
        with to.loop("i", 1) as i, to.loop("j", 3) as j:
            to.line(f"use({i}, {j})")
        to.line("return")
    assert to.text() == "def f():\n for j in range(3):\n  use(0, j)\n return\n"


def work_of(units, threads):
    """The arrays of `mark`, and the work on them; scratch's row says what one thread has."""
    x, out = np.arange(units, dtype=np.float32), np.zeros(units, np.float32)
    one, scratch = np.ones(1, np.float32), np.zeros(16 * threads, np.float32)
    sizes = np.array([5], np.int64)
    row = [units, *cpu.places((x, one, one, out)), scratch.ctypes.data, 16, *cpu.places([sizes])]
    return (x, one, out, scratch, sizes), cpu.Work([cpu.layer_entry(mark)], [row])


@pytest.mark.parametrize(("units", "threads"), [(1, 2), (2, 2), (7, 3), (100, 2), (5, 1), (3, 8)])
def test_every_unit_is_done_once(units, threads):
    arrays, work = work_of(units, threads)
    x, out, scratch = arrays[0], arrays[2], arrays[3]
    work.run(units, threads)
    np.testing.assert_array_equal(out, x + 6)
    shares = scratch[::16]
    assert shares.sum() == units
    busy = shares[shares > 0]
    assert len(busy) == min(units, threads)
    assert busy.max() - busy.min() <= 1


@pytest.mark.parametrize("threads", [1, 2])
def test_kernels_run_one_after_the_other(threads):
    """Each takes the previous one's output; the last has one unit, and one thread does it."""
    arrays = [np.arange(6, dtype=np.float32), np.zeros(6, np.float32), np.zeros(6, np.float32)]
    one, scratch, sizes = np.ones(1, np.float32), np.zeros(32, np.float32), np.array([5], np.int64)
    rows = [
        [units, *cpu.places((x, one, one, out)), scratch.ctypes.data, 16, *cpu.places([sizes])]
        for units, x, out in ((6, arrays[0], arrays[1]), (1, arrays[1], arrays[2]))
    ]
    work = cpu.Work([cpu.layer_entry(mark)] * 2, rows)
    work.run(6, threads)
    assert arrays[2].tolist() == [12, 0, 0, 0, 0, 0]
    assert scratch[::16].tolist() == ([7, 0] if threads == 1 else [4, 3])
    # What is in the table may change between two runs.
    work.table[1, cpu.FIELDS.index("units")] = 6
    work.run(6, threads)
    assert arrays[2].tolist() == [30, 20, 22, 24, 26, 28]


def test_arrays_of_other_dtypes():
    halves, octets = np.array([1, 2, 3], np.float16), np.array([4, 5, 6], np.uint8)
    out, sizes = np.zeros(3, np.int64), np.array([10], np.int64)
    cpu.Spread(add_up, ("float16", "bool", "int64"))((halves, octets, out), sizes, 3, 2)
    assert out.tolist() == (halves.view(np.uint16).astype(int) + octets + 10).tolist()


def test_several_threads_may_run_work_at_once():
    results = []

    def work():
        for _ in range(50):
            arrays, mine = work_of(64, 2)
            mine.run(64, 2)
            results.append(bool((arrays[2] == arrays[0] + 6).all()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 200


def test_cores_are_at_least_one_and_no_more_than_there_are():
    assert 1 <= cpu.cores() <= (os.cpu_count() or 1)
    assert parallel.cores is cpu.cores
