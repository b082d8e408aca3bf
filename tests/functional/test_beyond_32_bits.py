"""Arrays of more than 2^31 elements on a GPU, through the public functions, by every rung."""

from __future__ import annotations

import pytest

import rooftile
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.ops.patterns.grayscale import Grayscale
from rooftile.ops.patterns.reduce import Reduce
from rooftile.ops.patterns.scan import Scan
from rooftile.ops.patterns.transpose import Transpose
from rooftile.strategies import ladder

# Several at once would not fit.
pytestmark = pytest.mark.alone

MANY = 2**31 + 17
PICTURE = 32771, 65537
"""Rows and columns that no tile divides: 2^31 pixels and more."""
SQUARES = 32776, 65544
"""The same in multiples of 8."""
PART = 2048
"""Rows that are compared at a time."""


@pytest.fixture
def torch(cuda_device):
    """PyTorch, whose memory is given back afterwards."""
    torch = pytest.importorskip("torch")
    yield torch
    torch.cuda.empty_cache()


@pytest.fixture
def filled(torch):
    """``filled(shape, dtype, copies)``: random bytes, where so many such arrays find room."""

    def made(shape, dtype, copies):
        x = torch.empty(0, dtype=dtype)
        wanted = copies * x.element_size() * int(torch.tensor(shape).prod())
        room = torch.cuda.mem_get_info()[0]
        if room < wanted:
            pytest.skip(f"{room:,} bytes are free, wanted are {wanted:,}")
        if dtype is torch.float16:
            return torch.rand(shape, dtype=dtype, device="cuda")
        return torch.randint(0, 256, shape, dtype=dtype, device="cuda")

    return made


def rungs(problem):
    """The names of all strategies that take a problem."""
    names = [r.name for r in ladder(problem.operation, "cuda") if r.why_not(problem) is None]
    assert names
    return names


def test_add(torch, filled):
    a, b = (filled((MANY,), torch.int32, 4) for _ in range(2))
    expected = a + b
    out = torch.empty_like(a)
    for name in rungs(Elementwise("add", (MANY,), "int32")):
        out.fill_(-1)
        rooftile.add(a, b, strategy=name, out=out)
        assert torch.equal(out, expected), name


@pytest.mark.parametrize(
    ("shape", "dtype"), [(PICTURE, "uint8"), (SQUARES, "uint8"), (SQUARES, "float16")]
)
def test_transpose(torch, filled, shape, dtype):
    x = filled(shape, getattr(torch, dtype), 3)
    out = torch.empty(shape[::-1], dtype=x.dtype, device="cuda")
    for name in rungs(Transpose(shape, dtype=dtype)):
        out.fill_(0)
        rooftile.transpose(x, strategy=name, out=out)
        assert torch.equal(out.t(), x), name


def test_transpose_in_place(torch, filled):
    side = 46400
    x = filled((side, side), torch.uint8, 3)
    expected = x.t().contiguous()
    rooftile.transpose(x, out=x)
    assert torch.equal(x, expected)


def test_rotate(torch, filled):
    x = filled((MANY,), torch.uint8, 4)
    assert torch.equal(rooftile.rotate(x, 2**31 - 5), torch.roll(x, 2**31 - 5))


def test_grayscale(torch, filled):
    x = filled((*PICTURE, 3), torch.uint8, 2)
    problem = Grayscale(*PICTURE)
    red, green, blue = problem.weights
    out = torch.empty(PICTURE, dtype=torch.uint8, device="cuda")
    for name in rungs(problem):
        out.fill_(0)
        rooftile.grayscale(x, strategy=name, out=out)
        for first in range(0, PICTURE[0], PART):
            wide = x[first : first + PART].int()
            sums = red * wide[..., 0] + green * wide[..., 1] + blue * wide[..., 2]
            gray = ((sums + 2**15) >> 16).to(torch.uint8)
            assert torch.equal(out[first : first + PART], gray), (name, first)


def test_box_blur(torch, filled):
    x = filled(SQUARES, torch.uint8, 3)
    blurred = rooftile.box_blur(x, 1)
    for first in (0, SQUARES[0] // 2, SQUARES[0] - PART):
        part = rooftile.box_blur(x[first : first + PART].clone(), 1)
        inner = slice(1 if first else 0, None if first + PART == SQUARES[0] else -1)
        assert torch.equal(blurred[first : first + PART][inner], part[inner]), first


def test_reduce(torch, filled):
    x = filled((MANY,), torch.uint8, 2)
    expected = int(x.sum(dtype=torch.int64))
    # The first rung's only thread would be at it for minutes.
    for name in rungs(Reduce((MANY,), dtype="uint8"))[1:]:
        assert int(rooftile.reduce(x, strategy=name)) == expected, name


def test_scan(torch, filled):
    x = filled((MANY,), torch.uint8, 12)
    out = torch.empty(MANY, dtype=torch.int64, device="cuda")
    # Others share out lines to blocks, and there is one.
    shared = {"hierarchical", "recursive", "sums_first", "look_back"}
    for name in shared.intersection(rungs(Scan((MANY,), 0, "uint8"))):
        out.fill_(-1)
        rooftile.scan(x, strategy=name, out=out)
        assert int(out[0]) == int(x[0])
        for first in range(1, MANY, 2**28):
            after = out[first : first + 2**28]
            steps = after - out[first - 1 : first - 1 + after.numel()]
            assert torch.equal(steps, x[first : first + 2**28].long()), (name, first)
