"""Every rung of every operation at its default shape: no share beyond one, no bound too low."""

from __future__ import annotations

import dataclasses
import json
import re
from xml.etree import ElementTree

import pytest

from rooftile.analysis.bounds import working_share
from rooftile.cli.commands.explain import drawings_of
from rooftile.cli.render.explanation import bound_lines, cpu_lines, kernel_lines
from rooftile.devices.cuda.cubin import Taken
from rooftile.errors import InputError
from rooftile.lab.measure.ceilings.cpu import Ceilings, Rates
from rooftile.lab.show.explain import explain, processor
from rooftile.lab.show.explain import kernels as kernels_module
from rooftile.lab.show.explain.advice import advice
from rooftile.lab.show.explain.cpu_drawing import cpu_picture
from rooftile.lab.show.explain.explanation import ARITHMETIC, CACHES, MEMORY, STEPS
from rooftile.lab.show.explain.measured import Measured
from rooftile.lab.show.explain.target import find_target
from rooftile.ops import climbed_shapes, default_shape, named, names, operations, parse
from rooftile.strategies import ladder, strategy
from rooftile.strategies.contract.gpu import of_launches


def rungs(operation):
    found = []
    for kind in ("cuda", "opencl"):
        try:
            found += [(rung, kind) for rung in ladder(operation, kind)]
        except InputError:
            continue
    return found


WITH_RUNGS = [operation for operation in operations() if rungs(operation)]


@pytest.fixture(autouse=True)
def not_compiled(monkeypatch):
    """What a compiler might take: the sums and shares follow from the launches alone."""

    class Taking(dict):
        def get(self, name, default=None):
            return Taken(registers=64, shared_bytes=0, frame_bytes=0)

    monkeypatch.setattr(kernels_module, "taken_by", lambda *_: (Taking(), ""))


@pytest.mark.parametrize("operation", WITH_RUNGS)
def test_every_rung_at_its_default_shape(operation):
    """At the first named problem, else at the one that is climbed; formats each at their own."""
    climbed = climbed_shapes(operation)
    forms = [parse(operation, shape, climbed.batch) for shape in climbed.shapes]
    # A rung for other problems than these is explained at the first named one that it takes.
    more = (named(operation, shape) for shape in names(operation))
    problems = [named(operation, default_shape(operation)), *forms, *more]
    target = find_target("cuda", "sm_90")
    explained = 0
    for rung, kind in rungs(operation):
        takes = of_launches(rung).why_not
        problem = next((one for one in problems if takes(one) is None), None)
        if problem is None:
            continue
        explained += 1
        found = explain(rung, problem, kind, target)
        sm = target.multiprocessors
        for kernel in found.kernels:
            assert 0 <= (kernel.divergent_share or 0) <= 1, (rung.name, kernel.name)
            assert 0 <= kernel.occupancy.occupancy <= 1
            assert 1 <= kernel.working(sm) <= min(sm, kernel.most_blocks)
            assert kernel_lines(kernel, sm)
        # Each limit is one of the multiprocessors that have a block, not of the whole GPU.
        assert len(found.kernels_ms) == len(found.kernels)
        assert found.bound_ms == pytest.approx(sum(found.kernels_ms))
        assert found.bound_ms >= max(found.limits_ms.values()) * (1 - 1e-9)
        for slower in (1.0, 1.3, 20.0):
            timed = dataclasses.replace(
                found, measured=Measured(found.bound_ms * slower, None, "a GPU", "a test", {})
            )
            _check_words(timed)
        _check_words(found)
        for drawing in drawings_of(of_launches(rung), found):
            ElementTree.fromstring(drawing)
        assert json.dumps(found.to_json(), allow_nan=False)
    assert explained


def _check_words(found):
    said = " ".join([*advice(found), *bound_lines(found)])
    if all(kernel.accesses is None for kernel in found.kernels):
        # Nobody counted what its threads load: that memory bounds it is not known.
        assert "only fusing" not in said, found.strategy
        assert "Device memory bounds it" not in said, found.strategy
    assert "% of the bound" not in said
    assert "% of its bound" not in said
    assert all(0 <= float(share) <= 100 for share in re.findall(r"([\d.]+) ?%", said))


def test_the_bound_of_a_block_is_that_of_its_multiprocessor():
    problem = named("scan", "sum-2^20")
    target = find_target("cuda", "sm_90")
    found = explain(strategy("scan", "kogge_stone", "cuda"), problem, "cuda", target)
    (kernel,) = found.kernels
    assert kernel.most_blocks == 1
    passes = kernel.accesses.cache_passes
    assert found.limits_ms[CACHES] == pytest.approx(passes / (1e3 * target.clock_mhz))
    moved = kernel.read_bytes + kernel.written_bytes
    # A multiprocessor takes 128 bytes a cycle, a twentieth of what device memory gives.
    assert found.limits_ms[MEMORY] == pytest.approx(moved / 128 / (1e3 * target.clock_mhz))
    assert found.limits_ms[STEPS] == pytest.approx(4 * kernel.accesses.steps / 1.98e6)
    assert "1 of 132 multiprocessors" in advice(found)[0]
    assert "fusing" not in " ".join(advice(found))


def test_a_block_s_arithmetic_is_that_of_its_lanes():
    problem = named("mlp_training", default_shape("mlp_training"))
    target = find_target("cuda", "sm_90")
    found = explain(strategy("mlp_training", "one_block", "cuda"), problem, "cuda", target)
    (kernel,) = found.kernels
    threads = kernel.grid.block_threads
    share = min(128, threads) / (128 * 132)
    whole = 1e-6 * problem.flops / target.fma_gflops
    assert found.limits_ms[ARITHMETIC] == pytest.approx(whole / share)


@pytest.mark.parametrize(
    ("launch", "share"),
    [
        ((1, 1, 132, None), 1 / 132),
        ((1, 1, 132, 128), 1 / (132 * 128)),
        ((1, 1024, 132, 128), 1 / 132),
        ((66, 64, 132, 128), 1 / 4),
        ((264, 32, 132, 128), 1 / 2),
        ((10_000, 256, 132, 128), 1.0),
    ],
)
def test_the_share_of_a_gpu_that_a_launch_can_use(launch, share):
    assert working_share(*launch) == pytest.approx(share)


def test_warps_that_diverge_in_turns_are_counted_once():
    """A block that scans section after section has no more warps than it has."""
    problem = named("scan", "sum-2^20")
    target = find_target("cuda", "sm_90")
    for name in ("kogge_stone", "kogge_stone_double", "brent_kung", "three_phase"):
        found = explain(strategy("scan", name, "cuda"), problem, "cuda", target)
        (kernel,) = found.kernels
        assert kernel.accesses.divergent_warps <= kernel.grid.warps()


def test_a_page_of_a_large_tile_is_drawn():
    problem = named("matmul", default_shape("matmul"))
    rung = strategy("matmul", "tiled", "cuda")
    found = explain(rung, problem, "cuda", find_target("cuda", "sm_90"))
    tile, _ = drawings_of(of_launches(rung), found)
    assert "the first" in tile
    assert len(tile) < 1_000_000


@pytest.mark.parametrize("operation", operations())
def test_every_rung_of_a_cpu_at_the_problem_that_is_climbed(operation, monkeypatch):
    rates = Rates(2, 200.0, 30.0, 30.0, 40.0)
    monkeypatch.setattr(processor, "ceilings", lambda **_: Ceilings(rates, rates, True))
    # Machine code is read in tests/lab/show/explain/test_processor.py.
    monkeypatch.setattr(processor, "busiest_loop", lambda *_: None)
    climbed = climbed_shapes(operation)
    problems = [parse(operation, shape, climbed.batch) for shape in climbed.shapes]
    taken = 0
    for rung in ladder(operation):
        problem = next((one for one in problems if rung.why_not(one) is None), None)
        if problem is None:
            continue
        taken += 1
        for slower in (None, 0.8, 1.2, 300.0):
            time = None
            if slower is not None:
                floor = rates.floor_ms(problem)
                time = Measured(floor * slower, None, "a CPU", "a test", {})
            found = processor.explain_cpu(rung, problem, measured=time)
            said = " ".join([*cpu_lines(found), *found.advice()])
            assert "% of the floor" not in said
            assert all(0 <= float(share) <= 100 for share in re.findall(r"([\d.]+) ?%", said))
            assert found.advice()
        ElementTree.fromstring(cpu_picture(found))
    assert taken
