"""What is known of a device as a limit of times on it."""

from __future__ import annotations

import pytest

from rooftile.devices import cpu
from rooftile.lab.measure.ceilings import known


@pytest.mark.parametrize("undisturbed", [True, False])
def test_the_cpus_roof_is_that_of_all_cores_and_trusted_where_nothing_disturbed_it(
    known_roof, monkeypatch, undisturbed
):
    found = type(known_roof)(known_roof.one_core, known_roof.all_cores, undisturbed)
    monkeypatch.setattr(known, "ceilings", lambda **_: found)
    here = known.known_roof(cpu.open_device())
    assert (here.ceilings, here.roof, here.description) == (found, found.all_cores, None)
    assert here.trusted is undisturbed


def test_a_device_that_is_no_gpu_has_the_processors_roof(opencl_device, known_roof, monkeypatch):
    measured = []
    monkeypatch.setattr(known, "gpu_ceilings", lambda *_, **__: measured.append(1) or "roof")
    here = known.known_roof(opencl_device)
    gpu = opencl_device.description.gpu
    assert here.description == opencl_device.description
    assert (here.roof, here.ceilings, here.trusted, len(measured)) == (
        ("roof", "roof", True, 1) if gpu else (known_roof.all_cores, known_roof, False, 0)
    )
