from __future__ import annotations

import pytest

from rooftile.lab.audit import Foreign, audit
from rooftile.ops import parse

from .verdicts import KERNELS, SHAPE, SHAPES


@pytest.fixture
def judge(quick_audits):
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
