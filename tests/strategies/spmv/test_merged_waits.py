"""The second kernel of merged products begins early: what it waits for it must not read before."""

from __future__ import annotations

import re

from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies import strategy
from tests.support.preparing import with_names


def test_what_the_first_kernel_leaves_is_not_read_before_it_is_there():
    rung = strategy("spmv", "csr_merge", "cuda")
    steps = rung.steps(Spmv(301, 157, 1400), rung.config(Spmv(301, 157, 1400)))
    *_, finishing = steps
    assert finishing.launch.overlaps
    text = with_names(rung)
    found = re.search(rf"{finishing.launch.kernel}\((.*?)\)\n{{(.*?)\n}}", text, re.S)
    parameters, body = found.groups()
    # A compiler moves loads of `__restrict__` arrays before the wait.
    for name in ("heads", "tails"):
        assert name in finishing.arguments
        assert re.search(rf"carried\* {name}\b", parameters)
        assert body.index("GRIDDEPCONTROL_WAIT()") < body.index(f"{name}[")
