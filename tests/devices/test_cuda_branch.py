"""Work beside a GPU's stream, in a graph and outside."""

from __future__ import annotations

import numpy as np
import pytest

VALUES = np.arange(1 << 20, dtype=np.float32)


@pytest.mark.parametrize("graph", [False, True])
def test_a_branch_follows_what_was_before_and_is_joined(graph, cuda_device):
    device, nbytes = cuda_device, VALUES.nbytes
    with device.on():
        given, first, second, last = (device.upload(a) for a in (VALUES, *(0 * VALUES,) * 3))
        places = [device.address(memory) for memory in (given, first, second, last)]
        branch = device.branch()

        def work():
            device.copy(places[1], places[0], nbytes)
            with branch.aside():
                device.copy(places[2], places[1], nbytes)
            branch.join()
            device.copy(places[3], places[2], nbytes)

        again = device.captured(work) if graph else work
        again()
        device.synchronise()
        found = np.empty_like(VALUES)
        device.copy_out(last, found)
    np.testing.assert_array_equal(found, VALUES)


@pytest.mark.parametrize("graph", [False, True])
def test_a_point_of_a_branch_is_waited_for_without_what_is_behind_it(graph, cuda_device):
    device, nbytes = cuda_device, VALUES.nbytes
    with device.on():
        given, first, second, last = (device.upload(a) for a in (VALUES, *(0 * VALUES,) * 3))
        places = [device.address(memory) for memory in (given, first, second, last)]
        branch = device.branch()

        def work():
            with branch.aside():
                device.copy(places[1], places[0], nbytes)
            branch.mark(0)
            with branch.aside():
                device.copy(places[2], places[1], nbytes)
            branch.mark(1)
            branch.wait(0)
            device.copy(places[3], places[1], nbytes)
            branch.wait(1)
            branch.join()

        again = device.captured(work) if graph else work
        again()
        device.synchronise()
        for memory in (second, last):
            found = np.empty_like(VALUES)
            device.copy_out(memory, found)
            np.testing.assert_array_equal(found, VALUES)
