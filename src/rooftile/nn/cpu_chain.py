"""Several CPU kernels in a row as one kernel.

A network's layers, run one after the other over a whole batch, send every
intermediate result through memory.  A chain takes a few images at a time through
all of its layers, with the intermediate results in scratch, that is in the
second-level cache, and the cores meet once a batch instead of once a layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import source
from rooftile.ops import Float32, Layer
from rooftile.strategies.contract.cpu import CpuKernel

_LINE = 16
"""float32 in a cache line: every part begins on one."""


@dataclass(frozen=True)
class Link:
    """One layer of a chain: its problem, its kernel, its packed parameters."""

    problem: Layer
    kernel: CpuKernel
    weights: Float32
    bias: Float32

    @property
    def image(self) -> tuple[int, int]:
        """Elements of one image of the input and of the output."""
        p = self.problem
        return int(np.prod(p.input_shape[1:])), int(np.prod(p.output_shape[1:]))


def chain(links: Sequence[Link], group: int) -> tuple[CpuKernel, Float32, Float32]:
    """One kernel for all links, ``group`` images a unit, with its packed weights and biases."""
    layout = _Layout.of(links, group)
    functions = {f"link{k}": link.kernel.function for k, link in enumerate(links)}
    kernel = CpuKernel(
        source("chain", _generate(links, group, layout), functions, passes="layers"),
        units=lambda images: -(-images // group),
        scratch=layout.scratch,
        sizes=layout.sizes,
    )
    return kernel, _joined([k.weights for k in links]), _joined([k.bias for k in links])


@dataclass(frozen=True)
class _Layout:
    """Offsets of each link's part in the joined arrays and in scratch."""

    weights: tuple[int, ...]
    bias: tuple[int, ...]
    between: tuple[int, ...]
    """Each link's output in scratch."""
    own: int
    """The scratch that the links use in turn."""
    scratch: int
    settings: tuple[int, ...]
    """Each link's own sizes among the chain's; its unit counts by images follow them."""
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, links: Sequence[Link], group: int) -> _Layout:
        between = _starts([group * link.image[1] for link in links[:-1]])
        settings, sizes = [], list[int]()
        for link in links:
            settings.append(len(sizes))
            sizes += [*link.kernel.sizes, *(link.kernel.units(n) for n in range(group + 1))]
        return cls(
            _starts([link.weights.size for link in links]),
            _starts([link.bias.size for link in links]),
            between,
            between[-1],
            between[-1] + max(link.kernel.scratch for link in links),
            tuple(settings),
            tuple(sizes),
        )


def _starts(counts: Sequence[int]) -> tuple[int, ...]:
    """Offsets of parts of these sizes, each on a cache line, and the end of the last one."""
    starts = [0]
    for count in counts:
        starts.append(starts[-1] + -(-count // _LINE) * _LINE)
    return tuple(starts)


def _joined(parts: Sequence[Float32]) -> Float32:
    starts = _starts([part.size for part in parts])
    whole = cpu.allocate(starts[-1], "packed parameters")
    whole[:] = 0
    for start, part in zip(starts, parts, strict=False):
        whole[start : start + part.size] = part
    return whole


def _generate(links: Sequence[Link], group: int, layout: _Layout) -> str:
    to = Writer()
    with (
        to.block("def kernel(x, weights, bias, out, scratch, sizes, begin, end):"),
        to.block("for unit in range(begin, end):"),
    ):
        first, last = links[0].image[0], links[-1].image[1]
        to.line(f"first = unit * {group}")
        to.line(f"images = min({group}, x.size // {first} - first)")
        for k, link in enumerate(links):
            source = f"x[first * {first} : (first + images) * {first}]" if k == 0 else "result"
            at, size = layout.between[k], link.image[1]
            result = f"scratch[{at} : {at} + images * {size}]"
            if k == len(links) - 1:
                result = f"out[first * {last} : (first + images) * {last}]"
            w, b, z = layout.weights[k], layout.bias[k], layout.settings[k]
            to.line(
                f"source = {source}",
                f"result = {result}",
                f"link{k}(source, weights[{w} : {w + link.weights.size}],"
                f" bias[{b} : {b + link.bias.size}], result, scratch[{layout.own} :],"
                f" sizes[{z} : {z + len(link.kernel.sizes)}], 0,"
                f" sizes[{z + len(link.kernel.sizes)} + images])",
            )
    return to.text()
