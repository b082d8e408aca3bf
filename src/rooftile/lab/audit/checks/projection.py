"""Is a whole batch right?  All of its items at once, at the price of one reference.

The method is Freivalds' (R. Freivalds, *Probabilistic machines can use less running time*, IFIP
Congress 1977), with a batch in the place of a matrix's rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rooftile.lab.audit.process.session import Arrays
from rooftile.lab.judge.compare import budget_of
from rooftile.ops import AnyArray, Array, ErrorModel, Problem
from rooftile.ops.judgement import Budget
from rooftile.ops.problem import outputs_of

_TELLING = 0.25
"""The largest bound, as a share of an ordinary result, at which a wrong item shows for sure."""


def projects(problem: Problem, model: ErrorModel) -> bool:
    """True if `projected_right` can judge this problem at a precision, and finds errors.

    An ordinary result has the size ``S / sqrt(K)``, and the bound for a batch of ``N`` is about
    ``N c u sqrt(K) S``.
    """
    count, arrays = problem.batch_size or 0, (*problem.input_arrays, *problem.output_arrays)
    if not problem.affine or count < 2 or model.operands != "float32":
        return False
    judgements = [problem.judgement(output, model) for output in problem.output_arrays]
    return all(array.batched and array.numpy.kind in "fV" for array in arrays) and all(
        isinstance(one, Budget) and count * model.factor * model.unit * one.terms <= _TELLING
        for one in judgements
    )


def projected_right(
    problem: Problem,
    outs: Arrays,
    arrays: Arrays,
    model: ErrorModel,
    generator: np.random.Generator,
) -> bool:
    """True if the results ``y_n`` of a batch pass a secret projection along the batch.

    Let ``R`` be the reference of an item, affine in its inputs: ``R(x) = L x + c``.  For secret
    weights ``a_n`` whose sum is one, ``sum a_n R(x_n) = R(sum a_n x_n)``: one reference says what
    the projection of all results must be, element by element.  Both sides are computed in float64.

    *The bound.*  Item ``n`` may be off by its budget ``b(S_n)``, where ``S_n`` is the magnitude of
    its terms; it bounds the reference too, so ``b`` is taken there for both.  The projection of
    right results is therefore off by at most ``sum |a_n| b(S_n)``.  Magnitudes are sums of moduli:
    ``S(x) = |L||x| + |c|``.  With ``A = sum |a_n| >= 1`` they add up to

        ``T := sum |a_n| S(x_n) = A S(sum |a_n| |x_n| / A)``,

    which takes one more reference. The parts of ``b`` that are proportional to ``S`` at the same
    place add up to ``b(T)``. The parts by the largest magnitude of an item, and the constant parts,
    add up to at most ``N`` times what they are for ``T``, as ``|a_n| max S_n <= max T`` and ``A <=
    N``; `budget_of` multiplies them so.

    *What it sees.*  No weight is zero.  A wrong item, whose error at some element is ``e``, passes
    only if the other errors cancel it, which nobody can arrange who does not know the weights, or
    if ``|a_n e|`` is below a bound of about ``N`` budgets.
    """
    count = len(outs[0])
    weights = secret_weights(count, generator)
    moduli = np.abs(weights)
    total = float(moduli.sum())
    inputs = len(problem.input_arrays)
    with np.errstate(invalid="ignore", over="ignore"):
        given = (*_summed(arrays[:inputs], weights), *arrays[inputs:])
        sizes = tuple(map(np.abs, arrays))
        scaled = (*_summed(sizes[:inputs], moduli / total), *sizes[inputs:])
        one = problem.with_batch(1)
        references = outputs_of(one.reference(*given))
        magnitudes = outputs_of(one.magnitude(*scaled))
        return all(
            _within(one, output, made, weights, np.asarray(reference), total * magnitude, model)
            for output, made, reference, magnitude in zip(
                one.output_arrays, outs, references, magnitudes, strict=True
            )
        )


def secret_weights(count: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Weights of items: signs that are drawn, shifted so that their sum is one.

    The shift is ``(1 - sum) / count``.  A sum of signs has the parity of ``count``, so no weight
    becomes zero: the least modulus is ``1 / count``.  The moduli add up to at most ``count``: to
    ``count + sum (1 - sum) / count``, or to one where all signs are equal.
    """
    signs = generator.choice([-1.0, 1.0], count)
    return np.asarray(signs + (1 - signs.sum()) / count)


def _summed(arrays: Sequence[AnyArray], weights: NDArray[np.float64]) -> Arrays:
    """Each batch as one item in float64: the weighted sum of its items."""
    return tuple(np.tensordot(weights, one.astype(np.float64), 1)[None] for one in arrays)


def _within(
    problem: Problem,
    output: Array,
    made: AnyArray,
    weights: NDArray[np.float64],
    reference: AnyArray,
    magnitude: AnyArray,
    model: ErrorModel,
) -> bool:
    judgement = problem.judgement(output, model)
    assert isinstance(judgement, Budget)
    (projection,) = _summed((made,), weights)
    bound = budget_of(output, judgement, magnitude, magnitude, model, len(weights))
    # A NaN is never within.
    return bool((np.abs(projection - reference) <= bound).all())
