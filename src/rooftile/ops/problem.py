"""The base class of every operation's problem: arrays, cost, reference, judgement, inputs."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from rooftile.errors import InputError
from rooftile.ops import nearby, values
from rooftile.ops.array import (
    DTYPES,
    AnyArray,
    Array,
    Computed,
    Dtype,
    Float32,
    Float64,
    Role,
    numpy_dtype,
)
from rooftile.ops.checks import (
    boolean_from_text,
    check_computed,
    check_positive,
    integer_from_text,
    number_from_text,
    pair,
    pair_from_text,
)
from rooftile.ops.draws import Draw
from rooftile.ops.features import described_features
from rooftile.ops.fields import text_of
from rooftile.ops.judgement import Budget, Exact, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.values import ordinary
from rooftile.ops.words import in_words

CASES: Mapping[str, str] = {
    "float32": "float32",
    "float64": "float64",
    "float16": "16-bit",
    "bfloat16": "16-bit",
}
"""Kinds of dtypes, of which kernels take about as long for each element; others are integers."""


class Problem(ABC):
    """An operation with its shapes and fused parts fixed: a frozen, hashable dataclass.

    What a subclass must say: ``operation``, `arrays`, `flops` and `reference`.
    """

    def __init_subclass__(cls) -> None:
        # A problem is looked up in each call, and its fields are hashed once: a dataclass leaves
        # a hash alone that the class has itself.
        cls.__hash__ = Problem.__hash__  # type: ignore[method-assign]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((type(self), *(getattr(self, f.name) for f in fields(self))))  # type: ignore[arg-type]

    operation: ClassVar[str]
    words: ClassVar[str] = ""
    """Of what it is, in a template that `rooftile.ops.words` fills."""
    counts: ClassVar[tuple[str, ...]] = ()
    """Fields that count parts, such as channels, and not their size: neighbours keep them small."""

    @property
    @abstractmethod
    def arrays(self) -> tuple[Array, ...]:
        """Every array: inputs, then parameters, then outputs, each in the order of arguments."""

    def in_words(self) -> str:
        """The computation in a few words."""
        return in_words(self, self.words)

    @property
    @abstractmethod
    def flops(self) -> int:
        """Operations of the direct method; a fused multiply-add is two."""

    @cached_property
    def text(self) -> str:
        """One line of JSON by which records know it, the same whatever the batch."""
        return text_of(self)

    def described_features(self) -> dict[str, str]:
        """The features beyond the operation's plain case, each with its field and value:
        ``{"pool:max": "pool='max'"}``. See `rooftile.ops.features`."""
        return described_features(self)

    @property
    def plain(self) -> Problem:
        """The problem with its arrays in the operation's own dtypes, row-major: see `stored`."""
        return self

    def stored(self, **how: str) -> Self:
        """The problem with arrays stored otherwise, by their names: ``x="float16"``,
        ``out="float16:channels_last"``.

        A float32 array may be stored as float16 or bfloat16, an array of four axes with its
        channels last, a max-pool's argmax as uint8: see
        `rooftile.ops.layers.positions`.  Raises `InputError`.
        """
        # Its class derives from this one, whose module therefore cannot import it.
        made: Self = importlib.import_module("rooftile.ops.stored").stored(self, how)
        return made

    def array(self, name: str) -> Array | None:
        """The array of a name, as it is stored; None where the problem has none."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, Array]:
        return {array.name: array for array in self.arrays}

    def values_of(self, arrays: Sequence[Array], given: Sequence[AnyArray]) -> tuple[AnyArray, ...]:
        """The values, in the problem's own dtypes, that arrays stand for which are stored as
        ``arrays`` says."""
        return tuple(
            values.astype(self._by_name[array.name].numpy, copy=False)
            for array, values in zip(arrays, given, strict=True)
        )

    def as_stored(self, arrays: Sequence[Array], given: Sequence[AnyArray]) -> tuple[AnyArray, ...]:
        """Values of the problem's own dtypes, stored as ``arrays`` says."""
        with np.errstate(over="ignore"):
            return tuple(
                values.astype(array.numpy, copy=False)
                for array, values in zip(arrays, given, strict=True)
            )

    @abstractmethod
    def reference(self, *arrays: Any) -> Any:
        """The output from inputs and parameters, in float64 or exact integers. A tuple of outputs
        where there are several."""

    def magnitude(self, *arrays: Any) -> Any:
        """Sum of the magnitudes of the terms of each element of an output with a budget. A tuple
        where there are several outputs."""
        made = self.reference(*arrays)
        return tuple(map(np.abs, made)) if isinstance(made, tuple) else np.abs(made)

    def defined(self, *outputs: AnyArray) -> tuple[AnyArray, ...]:
        """The defined part of the outputs: all of them, unless the data say how long one is. The
        rest may be anything, and two runs need not agree in it."""
        return outputs

    def given_by_others(self, made: AnyArray) -> tuple[AnyArray, ...]:
        """The outputs as the problem has them, from what another library gives."""
        (output,) = self.output_arrays
        return (made.reshape(output.shape),)

    @property
    def case(self) -> str:
        """The class of problems of its operation that share fitted costs of rungs: by default its
        first array's kind of dtype."""
        return CASES.get(self.arrays[0].dtype, "integers")

    @property
    def double(self) -> bool:
        """True if its numbers are float64, which a strategy takes only if it says so."""
        return False

    @property
    def affine(self) -> bool:
        """True if the result of a weighted sum of items is the weighted sum of their results. The
        weights' sum is one, and parameters are the same for all items. `magnitude` is then a sum of
        moduli."""
        return False

    @property
    def reduction(self) -> int:
        """Number of terms in the sum of an output's element."""
        return 1

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """The judgement of an output at a precision: integers exactly, numbers by a budget."""
        return Budget(self.reduction) if output.numpy.kind in "fV" else Exact()

    @cached_property
    def input_arrays(self) -> tuple[Array, ...]:
        """The arrays that are new in each call."""
        return self._of("input")

    @cached_property
    def parameter_arrays(self) -> tuple[Array, ...]:
        """The arrays that may stay."""
        return self._of("parameter")

    @cached_property
    def output_arrays(self) -> tuple[Array, ...]:
        """The arrays that are computed. Raises `InputError` where some arrays are batched and an
        output is not: each item of a batch is computed and judged without the others, so no output
        can belong to all of them."""
        outputs = self._of("output")
        if any(array.batched for array in self.arrays):
            for output in outputs:
                if not output.batched:
                    raise InputError(
                        f"output {output.name} of {self.operation}",
                        "no batch axis",
                        "batched=True, as other arrays of it have, or a problem without a batch",
                    )
        return outputs

    def _of(self, role: Role) -> tuple[Array, ...]:
        return tuple(array for array in self.arrays if array.role == role)

    @property
    def given_arrays(self) -> tuple[Array, ...]:
        """Inputs and parameters: what `reference` takes."""
        return self.input_arrays + self.parameter_arrays

    @property
    def batch_size(self) -> int | None:
        """Number of independent items; None where there is no batch axis."""
        return next((array.shape[0] for array in self.arrays if array.batched), None)

    def items_in(self, inputs: Sequence[AnyArray]) -> int | None:
        """Number of items of the batch that arrays hold, inputs first; None where there is no
        batch."""
        pairs = zip(inputs, self.input_arrays, strict=False)
        return next((len(array) for array, place in pairs if place.batched), None)

    def with_batch(self, batch: int) -> Self:
        """The same problem for another batch.  Raises `InputError` where there is no batch axis."""
        raise InputError("batch", batch, f"None: {self.operation} has no batch axis here")

    def moved(self) -> Mapping[str, int]:
        """The bytes of each array that any method must move, each counted once."""
        return {array.name: array.nbytes for array in self.arrays}

    @property
    def bytes(self) -> int:
        """Compulsory traffic: every method reads its input and writes its output at least once."""
        return sum(self.moved().values())

    def sizes(self) -> Mapping[str, int]:
        """Named numbers that follow from the fields, such as the rows of a result."""
        return {}

    def resized(self, **sizes: int) -> Self:
        """A problem of the same kind with other sizes.  Raises `InputError` where they do not fit
        together."""
        return replace(self, **sizes)  # type: ignore[type-var]

    def shrunk(self) -> Self:
        """A smaller problem of the same kind, to estimate a slow strategy's rate from."""
        return self

    def draw(self, draw: Draw) -> Self:
        """A problem of the same kind with fields that are drawn, as users' own problems have them.
        Raises `InputError` where the drawn values are no problem: another draw is tried then."""
        return replace(self, **draw.fields(self))  # type: ignore[type-var]

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Ordinary values for `given_arrays`. The inputs of one seed must be allowed with the
        parameters of another."""
        generator = np.random.default_rng(seed)
        return tuple(ordinary(array, generator) for array in self.given_arrays)

    def altered(self, arrays: Sequence[AnyArray], which: int, seed: int) -> tuple[AnyArray, ...]:
        """``arrays``, values for `given_arrays`, with one element of array ``which`` changed.

        A number grows by 4, and an integer becomes one that `random` has in its place, for it may
        be an index.  A problem with conditions on several elements at once, such as offsets that
        must rise, changes here as many elements as its conditions ask for.
        """
        generator = np.random.default_rng(seed)
        changed = arrays[which].copy()
        flat, place = changed.reshape(-1), int(generator.integers(changed.size))
        if changed.dtype.kind in "fV":
            flat[place] += 4
        else:
            flat[place] = self.random(seed)[which].reshape(-1)[place]
        return (*arrays[:which], changed, *arrays[which + 1 :])

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """Values for `given_arrays` that wrong methods stumble over, by what is hard about them."""
        generator = np.random.default_rng(seed)
        floats = any(array.numpy.kind in "fV" for array in self.given_arrays)
        return {
            kind: tuple(values.hard(array, kind, generator) for array in self.given_arrays)
            for kind in ("ties", *(values.HARD if floats else ()))
        }

    def neighbours(self) -> tuple[Self, ...]:
        """Small problems of the same kind whose sizes no tile divides."""
        return nearby.off_grid(self)

    def larger(self, generator: np.random.Generator) -> list[Self]:
        """Small problems of the same kind in which one size, or the batch, is drawn from those that
        are larger than usual tiles, or is a power of two."""
        return nearby.larger(self, generator)

    def smallest(self) -> tuple[Self, ...]:
        """Problems of the same kind in which one size, or every size, is as small as it can be."""
        return nearby.smallest(self)


def outputs_of(made: Any) -> tuple[Any, ...]:
    """A reference's results as a tuple, also where there is one output."""
    return made if isinstance(made, tuple) else (made,)


__all__ = [
    "DTYPES",
    "AnyArray",
    "Array",
    "Computed",
    "Dtype",
    "Float32",
    "Float64",
    "Problem",
    "Role",
    "boolean_from_text",
    "check_computed",
    "check_positive",
    "integer_from_text",
    "number_from_text",
    "numpy_dtype",
    "ordinary",
    "outputs_of",
    "pair",
    "pair_from_text",
]
