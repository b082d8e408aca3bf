"""An explicit SIMD vector of float32 for Numba, made of LLVM intrinsics.

Numba's auto-vectoriser keeps neither a register block nor a fused epilogue in
registers; with this type a kernel says what lies in which register.  A vector is
an LLVM ``<lanes x float>`` and lives in compiled code only.

Generated kernels begin with `header`, which brings the functions in by name:
``load(a, i)``, ``load_part(a, i, n)`` (the first n lanes, the others zero and not
read), ``store``, ``store_part``, ``store_aligned``, ``stream`` (both on a 64-byte
boundary), ``splat(s)``, ``splat_at(a, i)``, ``add``, ``subtract``, ``multiply``,
``fma(x, y, z)`` (x*y + z), ``maximum`` (NaN if either is, IEEE 754-2019), ``relu``,
``even(x, y)`` and ``odd(x, y)`` (every second lane of both), ``total(x)``
(sum of the lanes) and ``has_nan(x)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, config, types
from numba.extending import intrinsic, models, register_model

NAMES = (
    "load", "load_part", "store", "store_part", "store_aligned", "stream", "splat", "splat_at",
    "add", "subtract", "multiply", "fma", "maximum", "relu", "even", "odd", "total", "has_nan",
)  # fmt: skip

_FLOAT, _I1, _I32 = ir.FloatType(), ir.IntType(1), ir.IntType(32)


@cache
def lanes() -> int:
    """float32 lanes of a vector here: 16 with AVX-512, else 8 (AVX2; on NEON two registers).

    They follow the processor that Numba compiles for, which ``NUMBA_CPU_FEATURES`` may set.
    """
    chosen: str | None = config.CPU_FEATURES  # type: ignore[attr-defined]
    features = llvm.get_host_cpu_features().flatten() if chosen is None else chosen
    return 16 if "+avx512f" in features.split(",") else 8


@cache
def registers() -> int:
    """How many vectors of `lanes` the processor's registers hold."""
    return 32 if lanes() == 16 else 16


def header(width: int) -> str:
    """Source that brings the vector functions of ``width`` lanes into a generated module."""
    names = ", ".join(NAMES)
    return (
        "from numba import njit\n"
        "from rooftile.devices.cpu.vector import vectors\n"
        f"({names}) = vectors({width})\n"
    )


@cache
def vectors(width: int) -> tuple[Any, ...]:
    """The functions of `NAMES` for vectors of ``width`` lanes."""
    kind = _vector_type(width)
    makers = (_memory, _masked_memory, _arithmetic, _selection, _reduction)
    functions = {name: f for make in makers for name, f in make(kind, width).items()}
    return tuple(functions[name] for name in NAMES)


def _vector_type(width: int) -> Any:
    class Vector(types.Type):
        def __init__(self) -> None:
            super().__init__(name=f"float32x{width}")

    @register_model(Vector)
    class VectorModel(models.PrimitiveModel):
        def __init__(self, manager: Any, front_end: Any) -> None:
            super().__init__(manager, front_end, ir.VectorType(_FLOAT, width))

    return Vector()


def _define(result: Any, arguments: Sequence[Any], emit: Callable[..., Any]) -> Any:
    """An intrinsic with a fixed signature.  An argument None is any float32 array, which
    reaches ``emit(builder, ...)`` as its data pointer."""
    parameters = ", ".join(f"a{i}" for i in range(len(arguments)))

    def typed(given: tuple[Any, ...]) -> Any:
        signature = result(*(g if a is None else a for g, a in zip(given, arguments, strict=True)))

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            unpacked = [
                context.make_array(kind)(context, builder, value=value).data
                if wanted is None
                else value
                for kind, wanted, value in zip(signature.args, arguments, values, strict=True)
            ]
            emitted = emit(builder, *unpacked)
            return context.get_dummy_value() if result is types.void else emitted

        return signature, generate

    # Numba reads the number of arguments off the function's own signature.
    scope: dict[str, Any] = {"typed": typed}
    exec(f"def function(context, {parameters}): return typed(({parameters},))", scope)
    return intrinsic(scope["function"])


def _splat(builder: Any, scalar: Any, width: int) -> Any:
    undefined = ir.Constant(ir.VectorType(scalar.type, width), ir.Undefined)
    first = builder.insert_element(undefined, scalar, _I32(0))
    zeros = ir.Constant(ir.VectorType(_I32, width), [0] * width)
    return builder.shuffle_vector(first, undefined, zeros)


def _place(builder: Any, data: Any, i: Any, width: int) -> Any:
    return builder.bitcast(builder.gep(data, [i]), ir.VectorType(_FLOAT, width).as_pointer())


def _memory(kind: Any, width: int) -> dict[str, Any]:
    index = types.intp

    def load(builder: Any, data: Any, i: Any) -> Any:
        value = builder.load(_place(builder, data, i, width))
        value.align = 4
        return value

    def store_on(alignment: int, stream: bool = False) -> Callable[..., None]:
        def store(builder: Any, data: Any, i: Any, value: Any) -> None:
            written = builder.store(value, _place(builder, data, i, width))
            written.align = alignment
            if stream:
                written.set_metadata("nontemporal", builder.module.add_metadata([_I32(1)]))

        return store

    def splat_at(builder: Any, data: Any, i: Any) -> Any:
        return _splat(builder, builder.load(builder.gep(data, [i])), width)

    return {
        "load": _define(kind, (None, index), load),
        "store": _define(types.void, (None, index, kind), store_on(4)),
        "store_aligned": _define(types.void, (None, index, kind), store_on(4 * width)),
        "stream": _define(types.void, (None, index, kind), store_on(4 * width, stream=True)),
        "splat_at": _define(kind, (None, index), splat_at),
    }


def _masked_memory(kind: Any, width: int) -> dict[str, Any]:
    vector = ir.VectorType(_FLOAT, width)
    index = types.intp

    def first(builder: Any, count: Any) -> Any:
        numbers = ir.Constant(ir.VectorType(count.type, width), list(range(width)))
        return builder.icmp_unsigned("<", numbers, _splat(builder, count, width))

    def call(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(result, [a.type for a in arguments]), name
        )
        return builder.call(function, arguments)

    def load_part(builder: Any, data: Any, i: Any, count: Any) -> Any:
        place, zero = _place(builder, data, i, width), ir.Constant(vector, [0.0] * width)
        arguments = [place, _I32(4), first(builder, count), zero]
        return call(builder, f"llvm.masked.load.v{width}f32.p0", vector, arguments)

    def store_part(builder: Any, data: Any, i: Any, value: Any, count: Any) -> Any:
        arguments = [value, _place(builder, data, i, width), _I32(4), first(builder, count)]
        call(builder, f"llvm.masked.store.v{width}f32.p0", ir.VoidType(), arguments)

    return {
        "load_part": _define(kind, (None, index, index), load_part),
        "store_part": _define(types.void, (None, index, kind, index), store_part),
    }


def _arithmetic(kind: Any, width: int) -> dict[str, Any]:
    vector = ir.VectorType(_FLOAT, width)

    def fma(builder: Any, x: Any, y: Any, z: Any) -> Any:
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{width}f32"
        )
        return builder.call(function, [x, y, z])

    two = (kind, kind)
    return {
        "splat": _define(kind, (types.float32,), lambda b, s: _splat(b, s, width)),
        "add": _define(kind, two, lambda b, x, y: b.fadd(x, y)),
        "subtract": _define(kind, two, lambda b, x, y: b.fsub(x, y)),
        "multiply": _define(kind, two, lambda b, x, y: b.fmul(x, y)),
        "fma": _define(kind, (kind, kind, kind), fma),
    }


def _selection(kind: Any, width: int) -> dict[str, Any]:
    def maximum(builder: Any, x: Any, y: Any) -> Any:
        # The processor's maximum gives y where either is NaN: only x's NaN needs care.
        larger = builder.select(builder.fcmp_ordered(">", x, y), x, y)
        return builder.select(builder.fcmp_unordered("uno", x, x), x, larger)

    def relu(builder: Any, x: Any) -> Any:
        zero = ir.Constant(ir.VectorType(_FLOAT, width), [0.0] * width)
        return builder.select(builder.fcmp_ordered(">", zero, x), zero, x)

    def every_second(start: int) -> Callable[..., Any]:
        pattern = ir.Constant(ir.VectorType(_I32, width), list(range(start, 2 * width, 2)))
        return lambda builder, x, y: builder.shuffle_vector(x, y, pattern)

    two = (kind, kind)
    return {
        "maximum": _define(kind, two, maximum),
        "relu": _define(kind, (kind,), relu),
        "even": _define(kind, two, every_second(0)),
        "odd": _define(kind, two, every_second(1)),
    }


def _reduction(kind: Any, width: int) -> dict[str, Any]:
    vector = ir.VectorType(_FLOAT, width)

    def total(builder: Any, x: Any) -> Any:
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(_FLOAT, [_FLOAT, vector]),
            f"llvm.vector.reduce.fadd.v{width}f32",
        )
        return builder.call(function, [_FLOAT(0.0), x], fastmath=("reassoc",))

    def has_nan(builder: Any, x: Any) -> Any:
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(_I1, [ir.VectorType(_I1, width)]),
            f"llvm.vector.reduce.or.v{width}i1",
        )
        return builder.call(function, [builder.fcmp_unordered("uno", x, x)])

    return {
        "total": _define(types.float32, (kind,), total),
        "has_nan": _define(types.boolean, (kind,), has_nan),
    }
