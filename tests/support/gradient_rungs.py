"""What the GPU rungs of gradients are tested for; those of the CPU have tests of their own."""

from __future__ import annotations

from tests.support.every_rung import EveryRung


class EveryGpuRung(EveryRung):
    """`EveryRung` without the CPU's tests."""

    test_right_on_the_cpu = None
    test_neighbours_are_judged_too_on_the_cpu = None
