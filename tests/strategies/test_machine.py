from dataclasses import replace

import pytest

from rooftile.errors import InputError
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import strategy
from rooftile.strategies.contract.machine import Machine, preset
from tests.support.some_gpu import some_gpu

H200 = preset("sm_90")
LENET = Conv2d(1000, 1, 86, 86, 4, (7, 7), activation="relu", pool=Pool.of("max", 2))


def test_presets_are_of_data_sheets():
    assert Machine(132, 65536, 228 * 1024, 227 * 1024) == H200
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
        assert Machine.of(description) == preset(architecture)
    quiet = replace(description, registers_per_unit=None, shared_bytes_per_unit=None)
    assert Machine.of(quiet).registers == 65536
    assert Machine.of(quiet).shared_room(1) == description.shared_bytes_per_block


def test_a_rung_counts_with_the_machine_that_it_is_on():
    rung = strategy("conv2d", "pool_folded_wgmma_tf32", "cuda")
    assert rung.on(H200) is rung
    small = rung.on(Machine(10, 65536, 48 * 1024, 47 * 1024))
    config = rung.defaults(LENET)
    for one, count in ((rung, 132), (small, 10)):
        (step,) = one.steps(LENET, config)
        assert step.launch.grid[0] == count * config["LEAST_BLOCKS"]
    assert rung.invalid(LENET, config) is None
    assert "bytes of shared memory a block" in small.invalid(LENET, config)
    assert small.invalid(LENET, small.defaults(LENET)) is None
