"""No strategy reads or writes outside its arrays: they lie against forbidden pages."""

import subprocess
import sys
from pathlib import Path

GUARDED = {"conv2d": (3, 6, 8, 10), "linear": (1, 3), "pool2d": (1, 3, 4), "softmax": (1,)}
"""Places of the cases in `CASES`: ragged widths, padding, stride, overlap."""

ROOT = str(Path(__file__).parents[2])

SCRIPT = """
import ctypes, itertools, mmap, sys
import numpy as np
sys.path.insert(0, {root!r})
from tests.strategies.strategy_cases import CASES, inputs
from rooftile.devices import cpu
from rooftile.lab.judge.verify import assert_close
from rooftile.strategies import ladder

PAGE = mmap.PAGESIZE
protect = ctypes.CDLL(None, use_errno=True).mprotect
protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
keep = []

def guarded(shape, at_end):
    size = 4 * int(np.prod(shape))
    room = -(-size // PAGE) * PAGE
    pages = mmap.mmap(-1, room + 2 * PAGE)
    keep.append(pages)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    for page in (start, start + PAGE + room):
        assert protect(page, PAGE, 0) == 0, ctypes.get_errno()
    offset = PAGE + (room - size if at_end else 0)
    return np.frombuffer(pages, np.float32, size // 4, offset).reshape(shape)

for operation, places in {cases!r}.items():
    for rung, n in itertools.product(ladder(operation), places):
        problem = CASES[operation][n]
        if rung.why_not(problem) is not None:
            continue
        given = inputs(problem, 0, ())
        for at_end in (True, False):
            x, *parameters = (guarded(array.shape, at_end) for array in given)
            for array, values in zip((x, *parameters), given):
                array[...] = values
            out = guarded(problem.output_shape, at_end)
            print(rung.name, problem, at_end, flush=True)
            rung.bind(problem, parameters, cpu.open_device(1))(x, out)
            assert_close(problem, out, x, *parameters, precision=rung.precision)
"""


def test_nothing_beyond_arrays_is_touched():
    """By any rung; the last line of what a killed process says names the one."""
    script = SCRIPT.format(root=ROOT, cases=GUARDED)
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, f"{run.returncode} after: {run.stdout[-400:]}{run.stderr[-2000:]}"


def test_the_guard_catches_an_over_read():
    """The test above can fail: one element too many ends the process."""
    script = SCRIPT.format(root=ROOT, cases={})
    script += """
array = guarded((3,), True)
beyond = np.lib.stride_tricks.as_strided(array, (4,))
print(beyond.sum())
"""
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert run.returncode == -11, run
