"""Calls whose kernels read constant memory, captured into graphs of PyTorch."""

from __future__ import annotations

import pytest

import rooftile

CALLS = {
    "conv1d": (rooftile.conv1d, (4000,), (5,)),
    "conv3d": (rooftile.conv3d, (12, 30, 40), (3, 3, 3)),
    "stencil": (rooftile.stencil, (12, 30, 40), (7,)),
    "separable": (rooftile.separable, (60, 80), (5,), (5,)),
}


@pytest.mark.parametrize(("function", "shapes"), [(f, s) for f, *s in CALLS.values()], ids=CALLS)
def test_several_captured_calls_and_one_between_replays(cuda_device, function, shapes):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no GPU")
    generator = torch.Generator("cuda").manual_seed(3)

    def values():
        return [torch.randn(shape, device="cuda", generator=generator) for shape in shapes]

    first, second, other = values(), values(), values()
    function(*first)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = [function(*first), function(*second)]
    for _ in range(2):
        for arrays in (first, second):
            for array, fresh in zip(arrays, values(), strict=True):
                array.copy_(fresh)
        function(*other)
        graph.replay()
        for y, arrays in zip(found, (first, second), strict=True):
            assert torch.equal(y, function(*arrays))
