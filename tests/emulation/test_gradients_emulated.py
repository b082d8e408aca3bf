"""`conv2d_input_gradient` on tensor cores, emulated on the host: right, inside its arrays."""

from __future__ import annotations

import dataclasses

import pytest
from emulator import emulate, missing

from rooftile.lab.judge.expected import Expected
from rooftile.ops import ERROR_MODELS, Pool
from rooftile.ops.conv2d_input_gradient import Conv2dInputGradient
from rooftile.strategies import strategy

pytestmark = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")

POOL = Pool.of("max", 4)
# Eight windows a row, whose last ones reach beyond; pixels that no window met; an odd image more.
WIDE = Conv2dInputGradient(3, 4, 13, 41, 16, (7, 7), pool=POOL)
# More channels and maps than an instruction's; padding, and a row of no whole vectors.
PADDED = Conv2dInputGradient(2, 5, 10, 11, 19, (3, 4), padding=(1, 2), pool=POOL, before="relu")
# A mask of eight columns, one map.
THIN = Conv2dInputGradient(1, 1, 12, 16, 1, (2, 8), pool=POOL)


def judged(name, problem, given, folder, config=None, **options):
    rung = strategy("conv2d_input_gradient", name, "cuda")
    *inputs, weights = given
    out = emulate(rung, problem, tuple(inputs), (weights,), config, folder, **options)
    return Expected(problem, *given).judge(out, ERROR_MODELS[rung.precision])


@pytest.mark.parametrize(
    ("name", "problem", "config"),
    [
        ("mma_bf16", WIDE, {}),
        ("mma_tf32", WIDE, {"BAND": 4, "WARPS": 2}),
        ("mma_fp16", PADDED, {"WARPS": 10, "BAND": 1}),
        ("mma_tf32", PADDED, {}),
        ("mma_bf16", THIN, {"BAND": 4}),
    ],
)
def test_whole_windows(name, problem, config, tmp_path):
    verdict = judged(name, problem, problem.random(3), tmp_path, config, finite=True)
    assert verdict.passed, verdict


@pytest.mark.parametrize("name", ["mma_bf16", "mma_tf32"])
@pytest.mark.parametrize("kind", ["infinities", "NaN"])
def test_infinities_reach_what_they_met_alone(name, kind, tmp_path):
    problem = dataclasses.replace(PADDED, batch=3)
    verdict = judged(name, problem, problem.hard(1)[kind], tmp_path)
    assert verdict.passed, verdict
