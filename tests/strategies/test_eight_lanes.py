"""The vector kernels with eight lanes, as a processor without AVX-512 compiles them."""

from __future__ import annotations

import os
import subprocess
import sys

import llvmlite.binding as llvm
import pytest

_SCRIPT = """
import numpy as np
import rooftile
from tests.support.unwritten import check_new_memory

from rooftile.devices.cpu.native.vector import lanes
from rooftile.lab.judge.verify import verify
from rooftile.ops import Conv2d, Linear, Pool, Softmax
from rooftile.strategies import strategy

assert lanes() == 8
ragged = Conv2d(2, 3, 15, 23, 5, (3, 3), (1, 1), (1, 1), "relu", Pool.of("max", 2))
rows = Conv2d(1, 2, 13, 19, 3, (7, 7), activation="tanh")
wide = Conv2d(2, 9, 7, 31, 19, (3, 11), (1, 2), (1, 4))
deep = Conv2d(1, 200, 6, 9, 17, (5, 5), (1, 1), (2, 2), "relu", Pool.of("max", 2))
for problem, name in ((ragged, "register_tile"), (ragged, "map_vectors"), (ragged, "winograd"),
                      (rows, "winograd"), (rows, "map_vectors"), (wide, "map_vectors"),
                      (deep, "map_vectors"),
                      (Linear(9, 70, 21, "relu"), "blocked"),
                      (Softmax(3, 6), "vectors"), (Softmax(3, 45), "vectors")):
    rung = strategy(problem.operation, name)
    verify(problem, rung, neighbours=False).raise_if_wrong()
    check_new_memory(rung, problem)
x, weights = np.random.default_rng(0).standard_normal((2, 700)), np.ones((100, 700))
x, weights = x.astype(np.float32), (weights * x[1]).astype(np.float32)
assert np.array_equal(rooftile.linear(x, weights), rooftile.Linear(weights)(x))
x = np.arange(83 * 90, dtype=np.float32).reshape(83, 90)
assert np.array_equal(rooftile.transpose(x, strategy="vectors"), x.T)
"""


@pytest.mark.skipif(
    not llvm.get_host_cpu_features().get("avx2"), reason="the processor has no AVX2 to compile for"
)
def test_eight_lanes_are_right() -> None:
    avx2 = {"ROOFTILE_CPU_NAME": "haswell", "ROOFTILE_CPU_FEATURES": "+avx,+avx2,+fma"}
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    environment = {**os.environ, **avx2, **paths}
    subprocess.run([sys.executable, "-c", _SCRIPT], check=True, env=environment)
