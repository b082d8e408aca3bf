from __future__ import annotations

import pytest

from rooftile.lab.audit import Foreign, audit, library, lookout, speed
from rooftile.lab.ceilings import cpu as ceilings
from rooftile.lab.ceilings import known
from rooftile.ops import parse

from .verdicts import KERNELS, SHAPE, SHAPES

RATES = ceilings.Rates(
    threads=2, fma_gflops=200.0, read_gbps=30.0, copy_gbps=30.0, stream_copy_gbps=40.0
)


@pytest.fixture
def few_samples(monkeypatch):
    """Few timed samples, and ceilings that nobody measured."""
    found = ceilings.Ceilings(RATES, RATES, undisturbed=True)
    monkeypatch.setattr(known, "ceilings", lambda **_: found)
    monkeypatch.setattr(speed, "_MOST", 5)
    monkeypatch.setattr(lookout, "_ENOUGH", 10)
    monkeypatch.setattr(library, "_MOST_REQUESTS", 40)


@pytest.fixture
def judge(few_samples):
    """``judge("fraud_blas")``: the audit of a kernel of the folder."""

    def run(name, shape=None, batch=6, device="cpu", **options):
        file, _, function = name.partition(":")
        if "." not in file:
            file += ".py"
        kernel = Foreign.parse(
            f"{KERNELS / file}:{function or 'kernel'}", device, launch=options.pop("launch", "")
        )
        return audit(kernel, parse("conv2d", shape or SHAPES.get(name, SHAPE), batch), **options)

    return run
