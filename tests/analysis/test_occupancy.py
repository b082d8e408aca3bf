"""Resident blocks: the definition, real architectures, and blocks that cannot be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.analysis.architectures import ARCHITECTURES, Multiprocessor, architecture
from rooftile.analysis.occupancy import occupancy, pending_loads, waves
from rooftile.errors import InputError


def _holds(sm, blocks, threads, registers, shared):
    """Whether so many blocks fit, resource by resource."""
    warps = -(-threads // sm.warp)
    return (
        blocks <= sm.blocks
        and blocks * threads <= sm.threads
        and blocks * warps <= sm.warp_limit
        and blocks * threads * registers <= sm.registers
        and blocks * shared <= sm.shared_bytes
    )


@given(
    st.integers(1, 1024), st.integers(0, 64), st.integers(0, 40000),
    st.integers(1, 32), st.integers(32, 64),
)  # fmt: skip
def test_the_most_blocks_that_fit(threads, registers, shared, most_blocks, warps):
    sm = Multiprocessor(32 * warps, most_blocks, 65536, 65536)
    found = occupancy(sm, threads, registers=registers, shared_bytes=shared)
    assert _holds(sm, found.blocks, threads, registers, shared)
    assert not _holds(sm, found.blocks + 1, threads, registers, shared)
    assert found.binding
    assert found.occupancy == found.warps / warps <= 1


@given(st.sampled_from(sorted(ARCHITECTURES)), st.integers(1, 512), st.integers(1, 63))
def test_units_of_allocation_never_add_blocks(name, threads, registers):
    sm = ARCHITECTURES[name]
    plain = Multiprocessor(sm.threads, sm.blocks, sm.registers, sm.shared_bytes, sm.warps)
    found = occupancy(sm, threads, registers=registers, shared_bytes=5000)
    assert found.blocks <= occupancy(plain, threads, registers=registers, shared_bytes=5000).blocks


@pytest.mark.parametrize(
    ("name", "threads", "registers", "shared", "blocks"),
    [
        # By hand: 5 warps of 32 x 32 registers; 65536 / 4 / 1024 = 16 warps a partition, 64 in all.
        ("9.0", 160, 32, 4928, 12),
        # 40 registers: 1280 a warp, 12 a partition, 48 warps: 6 blocks of 8.
        ("9.0", 256, 40, 0, 6),
        # 33 registers are 40: 256 a unit.
        ("9.0", 256, 33, 0, 6),
        # 1 KiB is the system's: 227 + 1 KiB fill the multiprocessor.
        ("9.0", 128, 32, 227 * 1024, 1),
        ("8.6", 1024, 32, 0, 1),
        ("7.5", 64, 64, 0, 16),
        # Registers by block: 16 x 32 x 16 = 8192 of 16384.
        ("1.3", 512, 16, 0, 2),
    ],
)
def test_real_multiprocessors(name, threads, registers, shared, blocks):
    sm = architecture(name)
    assert occupancy(sm, threads, registers=registers, shared_bytes=shared).blocks == blocks


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "share"),
    [
        (128, 40, 0, 0.75), (128, 32, 0, 1.0), (128, 69, 0, 0.4375), (128, 68, 0, 0.4375),
        (160, 48, 7744, 0.625), (64, 72, 704, 0.4375), (64, 105, 152, 0.25), (64, 115, 0, 0.25),
        (256, 126, 32768, 0.25), (256, 22, 0, 1.0), (128, 39, 1024, 0.75),
    ],
)  # fmt: skip
def test_what_the_driver_told_of_our_kernels_on_an_h200(threads, registers, shared, share):
    found = occupancy(architecture("sm_90"), threads, registers=registers, shared_bytes=shared)
    assert found.occupancy == share


def test_names_of_architectures():
    assert architecture("sm_90a") is architecture("9.0") is architecture("sm_90")
    assert architecture("sm_100") is ARCHITECTURES["10.0"]
    with pytest.raises(InputError, match="sm_90"):
        architecture("sm_42")


def test_what_no_block_can_have():
    sm = architecture("9.0")
    for error, arguments in (
        ("threads", {"threads": 0}),
        ("threads", {"threads": 1025}),
        ("shared_bytes", {"threads": 32, "shared_bytes": 227 * 1024 + 1}),
        ("registers", {"threads": 32, "registers": 256}),
    ):
        with pytest.raises(InputError, match=error):
            occupancy(sm, **arguments)
    free = Multiprocessor(1536, 8, 32768, 49152)
    with pytest.raises(InputError, match="shared_bytes"):
        occupancy(free, 256, shared_bytes=50000)


def test_registers_that_do_not_fit_leave_no_block():
    found = occupancy(architecture("9.0"), 1024, registers=65)
    assert (found.blocks, found.occupancy, found.binding) == (0, 0.0, ("registers",))


def test_loads_in_flight_and_waves():
    assert pending_loads(3, 512) == 1536
    assert waves(264, 1, 132) == 2.0
    with pytest.raises(InputError, match="resident"):
        waves(100, 0, 132)
