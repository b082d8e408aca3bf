"""The host's processor: memory, the writer, threads."""

import ctypes
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from rooftile.devices import cpu
from rooftile.devices.cpu import memory, team
from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import native
from rooftile.errors import InputError, OutOfMemory


@native
def mark(x, weights, bias, out, scratch, sizes, begin, end):
    """Each unit counts its visits; each thread leaves its number of units in its scratch."""
    for unit in range(begin, end):
        out[unit] += x[unit] + weights[0] * bias[0] + sizes[0]
    scratch[0] += end - begin


@native
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


def test_large_buffers_begin_elsewhere_in_a_page_than_numpys_do():
    one, other = cpu.allocate(5000), cpu.allocate(2**20)
    assert memory.address(one) % 4096 == memory.address(other) % 4096 == 1024


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


WHERE = """
from rooftile.devices.cpu.native import build, source
source("where", "def kernel(x, sizes, begin, end):\\n pass\\n").address(["float32"], False)
print(*build.kernel_directory().glob("where-*.o"))
"""


def where(cache, **variables):
    environment = os.environ | {"ROOFTILE_CACHE": str(cache)} | variables
    return subprocess.run(
        [sys.executable, "-c", WHERE], env=environment, capture_output=True, text=True, check=True
    )


def test_the_cache_follows_the_environment(tmp_path):
    assert where(tmp_path).stdout.startswith(str(tmp_path))


def test_a_cache_that_cannot_be_written_keeps_nothing_elsewhere(tmp_path):
    blocked, elsewhere = tmp_path / "file", tmp_path / "temporary"
    blocked.write_text("not a directory")
    elsewhere.mkdir()
    run = where(blocked, TMPDIR=str(elsewhere), ROOFTILE_QUIET="")
    assert run.stdout == "\n"
    assert f"cannot keep them in {blocked / 'kernels'}" in run.stderr
    assert not any(elsewhere.iterdir())


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
    return (x, one, out, scratch, sizes), cpu.KernelSequence([cpu.Entry.of_layer(mark)], [row])


@pytest.mark.parametrize(("units", "threads"), [(1, 2), (2, 2), (7, 3), (100, 2), (5, 1), (3, 8)])
def test_every_unit_is_done_once(units, threads):
    arrays, work = work_of(units, threads)
    x, out, scratch = arrays[0], arrays[2], arrays[3]
    work.run(units, threads)
    np.testing.assert_array_equal(out, x + 6)
    # Who is late leaves its shares to others.
    assert scratch[::16].sum() == units


@pytest.mark.parametrize("threads", [1, 2])
def test_kernels_run_one_after_the_other(threads):
    """Each takes the previous one's output; the last has one unit."""
    arrays = [np.arange(6, dtype=np.float32), np.zeros(6, np.float32), np.zeros(6, np.float32)]
    one, scratch, sizes = np.ones(1, np.float32), np.zeros(32, np.float32), np.array([5], np.int64)
    rows = [
        [units, *cpu.places((x, one, one, out)), scratch.ctypes.data, 16, *cpu.places([sizes])]
        for units, x, out in ((6, arrays[0], arrays[1]), (1, arrays[1], arrays[2]))
    ]
    work = cpu.KernelSequence([cpu.Entry.of_layer(mark)] * 2, rows)
    work.run(6, threads)
    assert arrays[2].tolist() == [12, 0, 0, 0, 0, 0]
    assert scratch[::16].sum() == 7
    # What is in the table may change between two runs.
    work.rows[1][cpu.FIELDS.index("units")] = 6
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


def test_a_busy_team_is_not_waited_for():
    busy = ctypes.c_int64.from_address(team.team(2).place + team.BUSY_AT)
    busy.value = 1
    arrays, mine = work_of(64, 2)
    mine.run(64, 2)
    # Whoever has it keeps it.
    assert busy.value == 1
    busy.value = 0
    assert (arrays[2] == arrays[0] + 6).all()
    # Thread 0 did it all.
    assert arrays[3][::16].tolist() == [64, 0]


@native
def linger(x, weights, bias, out, scratch, sizes, begin, end):
    """Units that take a while, so that every thread comes in time."""
    for unit in range(begin, end):
        total = x[unit]
        for _ in range(sizes[0]):
            total = total * weights[0] + bias[0]
        out[unit] = total
        scratch[0] += 1.0


@pytest.mark.parametrize("threads", [2, 3])
def test_all_threads_work(threads):
    units = 64
    arrays, _ = work_of(units, threads)
    x, one, out, scratch, _ = arrays
    sizes = np.array([200_000], np.int64)
    row = [units, *cpu.places((x, one, one, out)), scratch.ctypes.data, 16, *cpu.places([sizes])]
    work = cpu.KernelSequence([cpu.Entry.of_layer(linger)], [row])
    for _ in range(20):
        scratch[:] = 0
        work.run(units, threads)
        assert scratch[::16].sum() == units
        if (scratch[::16] > 0).all():
            return
    pytest.fail("some thread never worked")


def test_a_team_that_slept_wakes():
    for pause in (0.0, 0.02, 0.0, 0.05):
        time.sleep(pause)
        arrays, mine = work_of(9, 3)
        mine.run(9, 3)
        assert (arrays[2] == arrays[0] + 6).all()


def test_a_forked_child_has_a_team_of_its_own():
    _, mine = work_of(8, 2)
    mine.run(8, 2)
    child = os.fork()
    if child == 0:
        arrays, mine = work_of(8, 2)
        mine.run(8, 2)
        os._exit(0 if (arrays[2] == arrays[0] + 6).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_cores_are_at_least_one_and_no_more_than_there_are(monkeypatch):
    monkeypatch.delenv("ROOFTILE_NUM_THREADS", raising=False)
    assert 1 <= cpu.cores() <= (os.cpu_count() or 1)
    monkeypatch.setenv("ROOFTILE_NUM_THREADS", "3")
    assert cpu.cores() == 3
    for wrong in ("0", "many", "-1"):
        monkeypatch.setenv("ROOFTILE_NUM_THREADS", wrong)
        with pytest.raises(InputError, match="ROOFTILE_NUM_THREADS"):
            cpu.cores()
