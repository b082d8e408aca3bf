"""Sums in the lanes of vectors."""

from __future__ import annotations

from collections.abc import Callable

from rooftile._locks import lock
from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through, tree_depth
from rooftile.devices import cpu
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.reduce import Reduce
from rooftile.ops.problem import numpy_dtype
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.combining import combining
from rooftile.strategies.reduce.cpu._lanes import LEAF_ROWS, Walk
from rooftile.strategies.reduce.cpu.pairwise import pairs, sizes_of


class Accumulators(HostStrategy):
    """Takes every problem whose elements may be combined in any order.

    A sum that is made one addition after the other takes an addition's latency for each element:
    the next one needs its result. Independent accumulators leave the processor something to do
    meanwhile, and neighbouring ones are a vector.
    """

    operation = "reduce"
    name = "accumulators"
    parallel = False
    summary = "many independent accumulators, and so vectors, on one thread"
    takes = features("axis dtype:* operator:*")

    def units(self, problem: Reduce) -> int:
        return Walk.of(problem).units

    def prepare(
        self, problem: Reduce, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        walk, operator = Walk.of(problem), problem.operator
        carried, made = problem.carried, problem.output_arrays[0].dtype
        count = threads if self.parallel else 1
        first = carried if walk.segments > 1 else made
        text = walk.text(problem.arrays[0].numpy.itemsize)
        run = combining("reduce_lanes", text, operator, (problem.dtype, first), carried)
        sizes = walk.sizes
        if walk.segments == 1:
            return lambda x, results: run((x, results), sizes, walk.units, count)
        shape = (walk.slabs, walk.segments, walk.inner)
        partials = cpu.aligned(shape, numpy_dtype(carried), "partial results")
        finish, counts = pairs(operator, carried, made), sizes_of(walk.segments, walk.inner)
        turn = lock()

        def call(x: AnyArray, results: AnyArray) -> None:
            with turn:
                run((x, partials), sizes, walk.units, count)
                finish((partials, results), counts, problem.rows, count)

        return call

    def accesses(self, problem: Reduce) -> Counted:
        """A chain for each accumulator, no longer than a leaf; trees of leaves and of accumulators;
        then the segments' results."""
        walk, count = Walk.of(problem), problem.rows * problem.columns
        partials = problem.rows * walk.segments
        rows = min(walk.rows, -(-problem.columns // walk.together))
        leaf = min(LEAF_ROWS, rows)
        steps = leaf + tree_depth(-(-rows // leaf)) + tree_depth(walk.together)
        made = {"segments": through(count, partials, count, steps)}
        if walk.segments > 1:
            depth = tree_depth(walk.segments)
            made["results of segments"] = through(partials, problem.rows, partials, depth)
        return made


class Vectors(Accumulators):
    """Takes every problem whose elements may be combined in any order."""

    name = "vectors"
    parallel = True
    summary = "segments over the cores, vectors of accumulators in each"


STRATEGIES = (Accumulators(), Vectors())
