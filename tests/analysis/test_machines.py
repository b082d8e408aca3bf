"""The machines of published tables: their rates are those of their cores and clocks."""

from __future__ import annotations

import pytest

from rooftile.analysis.architectures import ARCHITECTURES, GPUS
from rooftile.analysis.machines import EXERCISES, MACHINES, machine
from rooftile.analysis.occupancy import occupancy
from rooftile.errors import InputError


@pytest.mark.parametrize(
    ("name", "cores", "mhz"),
    [("gk107", 384, 1058), ("gm107", 640, 1020), ("m60", 2048, 1178), ("p100", 3584, 1303),
     ("a40", 10752, 1740), ("h200", 132 * 128, 1980)],
)  # fmt: skip
def test_rates_are_those_of_cores_and_clocks(name, cores, mhz):
    assert machine(name).peak_gflops == pytest.approx(2e-3 * cores * mhz, rel=1e-3)


def test_every_machine_says_who_states_its_rates():
    assert all(one.source for one in MACHINES.values())
    with pytest.raises(InputError, match=str(next(iter(MACHINES)))):
        machine("nonsense")


def test_every_capability_of_the_documents_is_there_with_a_product():
    assert {"1.3", "2.0", "3.0", "3.5", "5.0", "5.2", "6.0", "8.6"} <= set(ARCHITECTURES)
    assert set(GPUS) == set(ARCHITECTURES)
    # A double-precision unit for three of single precision: the lecture prints the former's rate.
    single = GPUS["3.5"].peak_gflops
    assert single == pytest.approx(3950, rel=0.01)
    assert single / 3 == pytest.approx(machine("blue-waters").peak_gflops, rel=0.02)


def test_exercises_hold_what_their_answers_say():
    assert occupancy(EXERCISES["1536 threads, 4 blocks"], 576).blocks == 2
    assert occupancy(EXERCISES["1536 threads, 12 blocks"], 64, shared_bytes=512).blocks == 10
    assert occupancy(EXERCISES["2048 threads"], 1024, shared_bytes=8192).blocks == 2
