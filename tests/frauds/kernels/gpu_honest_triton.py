"""Honest: one lane an output, in Triton."""

import torch
import triton
import triton.language as tl


@triton.jit
def conv(
    x, weights, bias, out, channels, height, width, maps, rows, columns, padding, size,
    P: tl.constexpr, Q: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < size
    column, row = index % columns, index // columns % rows
    plane = index // columns // rows
    m, n = plane % maps, plane // maps
    total = tl.load(bias + m, mask=inside, other=0.0)
    for c in range(channels):
        for p in tl.static_range(P):
            for q in tl.static_range(Q):
                i, j = row + p - padding, column + q - padding
                there = inside & (i >= 0) & (i < height) & (j >= 0) & (j < width)
                image = ((n * channels + c) * height + i) * width + j
                tap = ((m * channels + c) * P + p) * Q + q
                pixels = tl.load(x + image, mask=there, other=0.0)
                total += pixels * tl.load(weights + tap, mask=there, other=0.0)
    # tl.maximum would lose a NaN.
    tl.store(out + index, tl.where(total < 0.0, 0.0, total), mask=inside)


def kernel(x, weights, bias, problem):
    out = torch.empty(problem.output_shape, device=x.device)
    maps, channels, p, q = weights.shape
    blocks = triton.cdiv(out.numel(), 256)
    conv[(blocks,)](
        x, weights, bias, out, channels, *x.shape[2:], maps, *out.shape[2:],
        problem.padding[0], out.numel(), P=p, Q=q, BLOCK=256,
    )  # fmt: skip
    return out
