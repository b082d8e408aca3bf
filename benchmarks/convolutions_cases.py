"""Which convolutions are held against PyTorch's on a GPU."""

from __future__ import annotations

from collections.abc import Iterator

from calls_cases import Case, Dtype

from rooftile.ops import Conv2d, Pool, Precision, Problem, named

_POOL = Pool.of("max", 2)


def _deep(batch: int, channels: int, size: int, maps: int, mask: int = 3) -> Conv2d:
    """A layer that keeps the size of its images, without anything behind it."""
    half = mask // 2
    return Conv2d(batch, channels, size, size, maps, (mask, mask), padding=(half, half))


PROBLEMS: dict[str, Problem] = {
    "lenet-conv1": named("conv2d", "lenet-conv1", 10_000),
    "lenet-conv2": named("conv2d", "lenet-conv2", 10_000),
    "LeNet-5 C1": Conv2d(10_000, 1, 32, 32, 6, (5, 5), activation="relu", pool=_POOL),
    "LeNet-5 C3": Conv2d(10_000, 6, 14, 14, 16, (5, 5)),
    "CIFAR, 6 maps": Conv2d(10_000, 3, 32, 32, 6, (5, 5), activation="relu", pool=_POOL),
    "CIFAR, 32 maps": _deep(1000, 3, 32, 32, 5),
    "CIFAR, 32 channels": _deep(1000, 32, 16, 32, 5),
    "VGG, 3 channels": _deep(32, 3, 224, 64),
    "VGG, 64 channels": _deep(64, 64, 56, 64),
    "VGG, 256 channels": _deep(1, 256, 28, 256),
    "VGG, 512 channels": _deep(64, 512, 14, 512),
    "AlexNet, 1st": Conv2d(128, 3, 224, 224, 64, (11, 11), (4, 4), (2, 2)),
    "AlexNet, 2nd": _deep(128, 64, 27, 192, 5),
    "ResNet, 1st": Conv2d(64, 3, 224, 224, 64, (7, 7), (2, 2), (3, 3)),
    "1x1": Conv2d(64, 256, 56, 56, 64, (1, 1)),
}
"""LeNets and a CIFAR net as their blocks with ReLU and pool, which are kernels of their own in
PyTorch; all others without, so that PyTorch has but the convolution to run."""
WAYS: tuple[tuple[Precision, Dtype], ...] = (
    ("ieee", "float32"),
    ("tf32", "float32"),
    ("fp16", "float16"),
    ("bf16", "bfloat16"),
)


def cases() -> Iterator[Case]:
    """All of them, each at every precision."""
    for label, problem in PROBLEMS.items():
        for precision, dtype in WAYS:
            yield Case(label, problem, precision, dtype)


def sizes(problem: Problem) -> str:
    """A problem in a few words, for a table."""
    assert isinstance(problem, Conv2d)
    p = problem
    words = [f"{p.batch:,} x {p.channels}x{p.height}x{p.width}"]
    words.append(f"{p.maps} maps {p.mask[0]}x{p.mask[1]}")
    words += [f"stride {p.stride[0]}"] if p.stride != (1, 1) else []
    words += [f"padding {p.padding[0]}"] if p.padding != (0, 0) else []
    words += [p.activation] if p.activation != "none" else []
    words += [f"pool {p.pool.window[0]}"] if p.pool else []
    return ", ".join(words)
