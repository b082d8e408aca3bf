"""Linear on Hopper's warpgroups: clusters, parts of the last tiles, what they refuse."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.errors import InputError, UnsupportedProblem
from rooftile.lab.judge.expected import Expected
from rooftile.lab.judge.verify import random_inputs
from rooftile.ops import Linear
from rooftile.strategies import strategy
from tests.support.ladder_checks import check, draw_config, run
from tests.support.some_gpu import some_gpu

RUNGS = [strategy("linear", f"warpgroups_{p}", "cuda") for p in ("fp16", "bf16", "tf32", "ieee")]
FP16, IEEE = RUNGS[0], RUNGS[-1]
each_rung = pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)

# More tiles than one round of blocks, and images left over: some tiles whole, some in parts.
SEVERAL_ROUNDS = Linear(1100, 520, 1020, "relu")
CONFIGS = [
    {"WARPGROUPS": 1, "TILE_O": 16, "CLUSTER": 4, "PARTS": 3},
    {"WARPGROUPS": 2, "TILE_O": 32, "CLUSTER": 2, "PARTS": 2},
    {"WARPGROUPS": 3, "TILE_O": 64, "CLUSTER": 4, "PARTS": 1},
    {"WARPGROUPS": 4, "TILE_O": 64, "CLUSTER": 1, "PARTS": 5},
    {"WARPGROUPS": 2, "TILE_O": 128, "CLUSTER": 2, "PARTS": 2, "HELD": 2, "SUM_O": 32},
    {"WARPGROUPS": 1, "TILE_O": 64, "CLUSTER": 2, "PARTS": 3, "BLOCKS": 2},
]


def whole(rung, config):
    """The config with a value for the tunable that only some of these rungs have."""
    extra = rung.tunables[-1]
    own = {extra.name: config.get(extra.name, extra.values[0])}
    return {"BLOCKS": 1} | {n: v for n, v in config.items() if n not in ("HELD", "SUM_O")} | own


sizes = st.builds(
    Linear, st.integers(1, 5000), st.integers(8, 200).map(lambda n: 8 * n), st.integers(1, 900)
)


@each_rung
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("specials", [(), (0, 1)], ids=["finite", "specials"])
def test_rounds_clusters_and_parts(rung, config, specials, hopper):
    config = whole(rung, config)
    assert rung.invalid(SEVERAL_ROUNDS, config) is None
    check(rung, SEVERAL_ROUNDS, hopper, specials=specials, config=config)


@each_rung
def test_a_smaller_batch_may_have_more_in_parts(rung, hopper):
    config = whole(rung, {"WARPGROUPS": 1, "TILE_O": 16, "CLUSTER": 1, "PARTS": 2})
    problem = Linear(1100, 264, 512)
    x, *parameters = random_inputs(problem, 0)
    bound = rung.bind(problem, parameters, hopper, config)
    for images in (1100, 255, 256, 257, 1):
        out = run(bound, x[:images])
        verdict = Expected(problem, x[:images], *parameters).judge(out, rung.precision)
        assert verdict.passed, verdict


def _works(rung, problem, config):
    """The tiles' slices as the text shares them out: (row of tiles, tile across) of each."""
    product = rung.steps(problem, config)[0]
    images, whole, works = product.arguments[-3:]
    macros = rung.macros(problem, config)
    across = macros["PADDED_OUTPUTS"] // config["TILE_O"]
    slices = macros["PADDED_INPUTS"] // (128 // problem.array("x").itemsize)
    groups, parts = across // config["CLUSTER"], config["PARTS"]
    share = -(-slices // parts)
    assert images == problem.batch
    for number in range(works):
        row, first, end = number // groups, 0, slices
        if parts > 1 and row >= whole:
            part, row = (row - whole) % parts, whole + (row - whole) // parts
            first, end = part * share, min(slices, (part + 1) * share)
        for rank in range(config["CLUSTER"]):
            yield from ((row, number % groups * config["CLUSTER"] + rank, s)
                        for s in range(first, end))  # fmt: skip


@each_rung
@settings(max_examples=30)
@given(data=st.data())
def test_any_config_shares_out_the_work_and_fits(rung, data):
    problem = data.draw(sizes.filter(lambda problem: rung.why_not(problem) is None))
    config = draw_config(rung, problem, data.draw)
    check_slices(rung, problem, config)
    check_room(rung, problem, config, data.draw(st.integers(1, problem.batch)))
    check_limits(rung, problem, config)


def check_slices(rung, problem, config):
    """Every slice of every tile is some block's, once."""
    rows = -(-problem.batch // (64 * config["WARPGROUPS"]))
    macros = rung.macros(problem, config)
    across = macros["PADDED_OUTPUTS"] // config["TILE_O"]
    seen = Counter(_works(rung, problem, config))
    assert set(seen.values()) == {1}
    assert len(seen) == rows * across * (macros["PADDED_INPUTS"] // 32)


def check_room(rung, problem, config, batch):
    """The sums of parts of a smaller batch fit in the workspace."""
    room = rung.workspace(problem, config).get("partial", 0)
    smaller = problem.with_batch(batch)
    for step in rung.steps(smaller, config)[1:]:
        apart = smaller.batch - step.arguments[-1] * 64 * config["WARPGROUPS"]
        assert config["PARTS"] * apart * problem.outputs <= room


def check_limits(rung, problem, config):
    """Blocks fit a multiprocessor."""
    launch = rung.steps(problem, config)[0].launch
    macros = rung.macros(problem, config)
    assert config["BLOCKS"] * (launch.shared_bytes + 1024) <= 228 * 1024
    assert macros["STAGES"] >= 2
    assert launch.grid[0] % config["CLUSTER"] == 0
    entry = 65536 // (config["BLOCKS"] * launch.threads) // 8 * 8
    groups = config["WARPGROUPS"]
    assert 128 * 24 + 128 * groups * macros["CONSUMER_REGISTERS"] <= entry * launch.threads


def test_tiles_fill_whole_rounds():
    for rung in RUNGS:
        problem = Linear(10_000, 6272, 512, "relu")
        config = rung.config(problem)
        rows, blocks = 64 * config["WARPGROUPS"], 132 // config["CLUSTER"] * config["CLUSTER"]
        _, whole, works = rung.steps(problem, config)[0].arguments[-3:]
        across = 512 // config["TILE_O"]
        parts = works * config["CLUSTER"] - whole * across
        rounds = math.ceil(whole * across / blocks) + math.ceil(parts / blocks) / config["PARTS"]
        assert rounds * blocks * rows * config["TILE_O"] < 1.1 * problem.batch * problem.outputs


@each_rung
def test_what_it_does_not_take(rung):
    piece = 8 if rung.narrow else 4
    assert f"multiples of {piece}" in rung.why_not(Linear(9, 96 + piece // 2, 9))
    assert rung.why_not(Linear(9, 96 + piece, 9)) is None
    gpu = some_gpu("sm_80")
    with pytest.raises(UnsupportedProblem, match="sm_90 alone, not sm_80"):
        rung.compile(SEVERAL_ROUNDS, gpu)


def test_sums_are_neither_too_short_nor_too_long():
    assert "sums of 64" in IEEE.why_not(Linear(1, 60, 1))
    with pytest.raises(UnsupportedProblem, match="the cores sum up to 8192"):
        FP16.check(Linear(1, 200_000, 1))
    assert IEEE.why_not(Linear(1, 200_000, 1)) is None
    long = Linear(2, 30_016, 3)
    assert FP16.config(long)["PARTS"] >= 4
    assert "30016 products summed" in FP16.invalid(long, FP16.config(long) | {"PARTS": 1})
    # None of them whole.
    assert FP16.steps(long, FP16.config(long))[0].arguments[-2] == 0


def test_a_config_that_cannot_run_is_refused_with_its_reason():
    gpu = some_gpu("sm_90")
    problem = Linear(1000, 128, 384)
    config = FP16.config(problem) | {"WARPGROUPS": 2, "TILE_O": 128, "PARTS": 1, "CLUSTER": 1}
    assert FP16.invalid(problem, config) is None
    for change, reason in (
        ({"CLUSTER": 2}, "clusters of 2 blocks, 3 tiles across"),
        ({"WARPGROUPS": 3, "TILE_O": 256, "HELD": 1}, "158 registers for one instruction"),
        ({"WARPGROUPS": 4, "TILE_O": 192, "HELD": 2}, "registers a thread"),
        ({"WARPGROUPS": 4, "TILE_O": 256, "BLOCKS": 2}, "bytes of shared memory"),
    ):
        with pytest.raises(InputError, match=reason):
            FP16.compile(problem, gpu, config | change)
