"""Fresh processes whose threads all use the library for the first time at once.

    python benchmarks/first_use.py [--processes 200] [--threads 8] [--cold] [--few]

In each process every thread calls twenty functions several times, at the same time as the other
threads call the next ones.  The process must end well, and all results must be those of a later
call by one thread.  ``--cold`` gives each process an empty cache, so that it compiles too;
``--few`` takes five of the functions, whose kernels are compiled in two seconds.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

Call = Callable[[], Any]
CALLS = 4
"""Of each function by each thread: the first ones find out how, the later ones repeat."""
_COMPILED = ("conv2d", "linear", "matmul", "pool2d", "softmax")
"""Functions whose repeated calls are methods of compiled code; threads begin with one of them."""
_LIMIT_S = 600


def calls() -> dict[str, Call]:
    """Twenty functions with their arguments."""
    import rooftile as rt

    numbers = np.random.default_rng(0)
    matrix, row = numbers.random((48, 64), np.float32), numbers.random(4096, np.float32)
    images = numbers.random((2, 3, 16, 16), np.float32)
    masks = numbers.random((4, 3, 3, 3), np.float32)
    volume, cube = numbers.random((1, 2, 6, 6, 6), np.float32), np.ones((2, 2, 3, 3, 3), np.float32)
    picture = (255 * numbers.random((32, 32, 3))).astype(np.uint8)
    right = numbers.random((64, 32), np.float32)
    signal, filters = numbers.random((2, 3, 64), np.float32), np.ones((4, 3, 5), np.float32)
    return {
        "add": lambda: rt.add(matrix, matrix),
        "argreduce": lambda: rt.argreduce(row),
        "argsort": lambda: rt.argsort(row),
        "axpy": lambda: rt.axpy(2.0, row, row),
        "box_blur": lambda: rt.box_blur(picture, 3),
        "conv1d": lambda: rt.conv1d(signal, filters),
        "conv2d": lambda: rt.conv2d(images, masks),
        "conv3d": lambda: rt.conv3d(volume, cube),
        "equalize": lambda: rt.equalize(picture[..., 0]),
        "grayscale": lambda: rt.grayscale(picture),
        "linear": lambda: rt.linear(matrix, right.T.copy()),
        "matmul": lambda: rt.matmul(matrix, right),
        "matvec": lambda: rt.matvec(matrix, right[:, 0].copy()),
        "pool2d": lambda: rt.pool2d(images, "max", 2),
        "reduce": lambda: rt.reduce(row),
        "rotate": lambda: rt.rotate(row, 5),
        "scan": lambda: rt.scan(row),
        "softmax": lambda: rt.softmax(matrix),
        "sort": lambda: rt.sort(row),
        "transpose": lambda: rt.transpose(matrix),
    }


def use(threads: int, seed: int, few: bool = False) -> None:
    """Call every function, or a few, by every thread, for the first time in this process.

    Raises the first error of a thread, and `AssertionError` where results differ.
    """
    known, start = calls(), threading.Barrier(threads)
    found: list[tuple[str, Any]] = []
    errors: list[BaseException] = []

    shuffled = random.Random(seed).sample(list(known), len(known))
    # A stable sort: these come first, in the order that the seed gives.
    names = sorted(shuffled, key=lambda name: name not in _COMPILED)
    names = names[: len(_COMPILED)] if few else names

    def work(first: int) -> None:
        try:
            for name in (*names[first:], *names[:first]):
                start.wait()
                found.extend((name, known[name]()) for _ in range(CALLS))
        except BaseException as error:
            errors.append(error)
            start.abort()

    workers = [threading.Thread(target=work, args=(k % len(_COMPILED),)) for k in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    expected = {name: known[name]() for name in names}
    assert len(found) == threads * CALLS * len(names)
    for name, result in found:
        np.testing.assert_array_equal(result, expected[name], name)


def fresh(
    threads: int, seed: int, few: bool = False, **environment: str
) -> subprocess.CompletedProcess[str]:
    """`use` in a process of its own."""
    command = [sys.executable, __file__, "--use", str(seed), "--threads", str(threads)]
    command += ["--few"] if few else []
    return subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, timeout=_LIMIT_S
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--processes", type=int, default=200)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--cold", action="store_true", help="an empty cache for each process")
    parser.add_argument("--few", action="store_true", help="five functions")
    parser.add_argument("--use", type=int, metavar="SEED", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.use is not None:
        use(options.threads, options.use, options.few)
        return 0
    failed = 0
    for seed in range(options.processes):
        with tempfile.TemporaryDirectory() as empty:
            given = {"ROOFTILE_CACHE": empty} if options.cold else {}
            done = fresh(options.threads, seed, options.few, **given)
        if done.returncode:
            failed += 1
            print(f"process {seed}: status {done.returncode}: {done.stderr.strip()[-300:]}")
    print(f"{failed} of {options.processes} processes of {options.threads} threads failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
