from dataclasses import replace

import pytest

from rooftile.errors import InputError
from rooftile.ops import Conv2d, Linear, Pool
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies import ladder, strategy
from rooftile.strategies.contract.costs import NOMINAL_GPU
from rooftile.strategies.contract.machine import Multiprocessors, preset
from tests.support.some_gpu import some_gpu

H200 = preset("sm_90")
LENET = Conv2d(1000, 1, 86, 86, 4, (7, 7), activation="relu", pool=Pool.of("max", 2))


def test_presets_are_of_data_sheets():
    assert Multiprocessors(132, 65536, 228 * 1024, 227 * 1024) == H200
    assert preset("8.6").multiprocessors == 82
    with pytest.raises(InputError, match="sm_12"):
        preset("sm_12")


def test_rooms_leave_what_the_system_takes():
    assert H200.shared_room(1) == 227 * 1024
    assert H200.shared_room(2) == 113 * 1024
    assert preset("sm_70").shared_room(2) == 48 * 1024
    assert H200.register_room(384) == 168


def test_a_device_that_tells_all_is_its_preset():
    for architecture in ("sm_75", "sm_86", "sm_90", "sm_100"):
        description = some_gpu(architecture).description
        assert Multiprocessors.of(description) == preset(architecture)
    quiet = replace(description, registers_per_unit=None, shared_bytes_per_unit=None)
    assert Multiprocessors.of(quiet).registers == 65536
    assert Multiprocessors.of(quiet).shared_room(1) == description.shared_bytes_per_block


def test_a_rung_counts_with_the_machine_that_it_is_on():
    rung = strategy("conv2d", "pool_folded_wgmma_tf32", "cuda")
    assert rung.on(H200) is rung
    small = rung.on(Multiprocessors(10, 65536, 48 * 1024, 47 * 1024))
    config = rung.defaults(LENET)
    for one, count in ((rung, 132), (small, 10)):
        (step,) = one.steps(LENET, config)
        assert step.launch.grid[0] == count * config["LEAST_BLOCKS"]
    assert rung.invalid(LENET, config) is None
    assert "bytes of shared memory a block" in small.invalid(LENET, config)
    assert small.invalid(LENET, small.defaults(LENET)) is None


@pytest.mark.parametrize(
    "machine",
    [
        Multiprocessors(24, 65536, 48 * 1024, 48 * 1024),
        Multiprocessors(1, 65536, 228 * 1024, 227 * 1024),
        Multiprocessors(1, 32768, 48 * 1024, 32 * 1024, 256),
    ],
    ids=["little shared memory", "one multiprocessor", "both"],
)
@pytest.mark.parametrize("operation", ["matmul", "linear"])
def test_products_are_refused_or_launched_on_any_machine(operation, machine):
    """Clusters were counted as none where a machine has fewer multiprocessors than one wants, and
    tiles chosen among none where shared memory holds none."""
    sizes = (512, 512, 512) if operation == "matmul" else (512, 512, 256)
    problem = Matmul(*sizes) if operation == "matmul" else Linear(*sizes)
    for rung in ladder(operation, "cuda"):
        placed = rung.on(machine)
        if placed.why_not(problem) is None:
            assert all(term >= 0 for term in placed.terms(problem, NOMINAL_GPU))
            config = placed.config(problem)
            if placed.invalid(problem, config) is None:
                assert all(all(step.launch.grid) for step in placed.steps(problem, config))
