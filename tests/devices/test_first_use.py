"""Eight threads that use a lazy part for the first time at once."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from rooftile.devices.first_use import imported, once

RING = {
    "ring/__init__.py": "",
    "ring/one.py": "import time; time.sleep(0.01)\nfrom ring import two\nvalue = two.value",
    "ring/two.py": "import time; time.sleep(0.01)\nvalue = 7\nfrom ring import one",
}
FIRST = """
import sys, threading
from rooftile.errors import DeviceMissing
from rooftile.devices import cuda, opencl
from rooftile.devices.cuda.compile import cuda_core
from rooftile.strategies import ladder

def cuda_part():
    core = cuda_core()
    return core.Program, core.Device

parts = {"cuda": cuda_part, "opencl": lambda: opencl.open_device(0),
         "ladder": lambda: len(ladder("conv2d", "cpu"))}
start, found = threading.Barrier(8), []

def work():
    start.wait()
    try:
        found.append(parts[sys.argv[1]]())
    except DeviceMissing as error:
        found.append(str(error))
    except BaseException as error:
        found.append(error)

threads = [threading.Thread(target=work) for _ in range(8)]
[one.start() for one in threads]
[one.join() for one in threads]
wrong = [one for one in found if isinstance(one, BaseException)]
assert not wrong, wrong
assert len(found) == 8 and len(set(map(repr, found))) == 1, found
"""


def at_once(work):
    start, found = threading.Barrier(8), []

    def one():
        start.wait()
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_modules_in_a_ring_are_whole(tmp_path, monkeypatch):
    for name, text in RING.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    names = iter(["ring.one", "ring.two"] * 4)
    found = at_once(lambda: imported(next(names)).value)
    assert found == [7] * 8


def test_a_value_is_made_once():
    made = []

    @once
    def slow(number):
        made.append(number)
        time.sleep(0.01)
        return object()

    assert len({id(one) for one in at_once(lambda: slow(1))}) == 1
    assert made == [1]


def test_a_process_whose_threads_compile_and_call_at_once(benchmark_script, tmp_path):
    # Freed memory is overwritten there, so that a call through it ends the process.
    given = {"ROOFTILE_CACHE": str(tmp_path), "PYTHONMALLOC": "debug", "ROOFTILE_QUIET": ""}
    done = benchmark_script("first_use").fresh(8, seed=0, few=True, **given)
    assert done.returncode == 0, (done.returncode, done.stderr[-1000:])
    assert done.stderr.count("rooftile compiles code") == 1, done.stderr


@pytest.mark.parametrize("part", ["cuda", "opencl", "ladder"])
def test_the_first_use_of_a_part(part):
    done = subprocess.run(
        [sys.executable, "-c", FIRST, part], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-1000:]
