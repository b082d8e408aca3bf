"""A chain of layers is optimised however long its text is."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.devices.cpu.native import build
from rooftile.nn import ConvLayer, LinearLayer, Network
from rooftile.ops import Pool


@pytest.mark.parametrize("passes", ["all", "layers"])
def test_a_text_of_layers_may_be_longer(monkeypatch, passes):
    text = "define void @entry() {\n" + "  ; a line\n" * 200 + "  ret void\n}\n"
    optimised = []
    monkeypatch.setattr(build, "MOST_INSTRUCTIONS", 100)
    real = build._optimised
    monkeypatch.setattr(build, "_optimised", lambda *of: optimised.append(of[1]) or real(*of))
    build.compiled(text, passes)
    assert optimised == ([] if passes == "all" else ["simplify"])


def test_a_chain_with_long_layers_has_the_layers_scores():
    pool = Pool.of("max", 2)
    layers = (
        ConvLayer("a", 16, 3, padding=1, activation="relu", pool=pool),
        ConvLayer("b", 32, 3, padding=1, activation="relu", pool=pool),
        LinearLayer("l", 10),
    )
    network = Network("chained", (3, 16, 16), layers).initialise(0)
    x = np.random.default_rng(0).standard_normal((8, 3, 16, 16)).astype(np.float32)
    whole = network.plan(batch=8)(x)
    each = np.concatenate([network.plan(batch=1)(x[k : k + 1]) for k in range(8)])
    np.testing.assert_allclose(whole, each, rtol=1e-4, atol=1e-5)
