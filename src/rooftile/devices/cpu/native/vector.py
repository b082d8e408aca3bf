"""An explicit SIMD vector of float32 for kernels, made of LLVM's own instructions.

LLVM's auto-vectoriser keeps neither a register block nor a fused epilogue in registers; with this
type a kernel says which register holds what.  A vector is an LLVM ``<lanes x float>`` and lives in
compiled code only.

Generated kernels know by name: ``load(a, i)``, ``load_part(a, i, n)`` (the first n lanes, the
others zero and not read), ``store``, ``store_part``, ``store_between(a, i, x, first, last)`` (the
lanes from first to last - 1; lane 0 belongs at i), ``store_aligned``, ``stream`` (both on a 64-byte
boundary), ``stream_quads`` (on a 16-byte boundary, 16 bytes at a time), ``splat(s)``, ``splat_at(a,
i)``, ``add``, ``subtract``, ``multiply``, ``divide``, ``fma(x, y, z)`` (x*y + z), ``joined(n, x,
y)`` (x's first n lanes, y's others), ``maximum`` and ``minimum`` (NaN if either is, IEEE 754-2019),
``relu``, ``even(x, y)`` and ``odd(x, y)`` (every second lane of both), ``woven_low(x, y, g)`` and
``woven_high(x, y, g)`` (of each 4 lanes, or 2 g if that is more, the low or the high half of both,
g lanes of x and g of y in turns; g a literal, a power of two), ``lifted(x, y, k)`` (x moved up by k
lanes, a literal, with the last k of y before it), ``backwards(x)`` (the last lane first),
``splat_last(x)``, ``splat_lane(x, k)`` (k a literal), ``last_of(x)``, ``positive(x)`` (1 where a
lane is above zero, else 0), ``gather(a, c, i)`` (the elements of a at the indices, int32, at c[i]
and after), ``gather_part(a, c, i, n)`` (for the first n lanes; nothing else is read, and the others
are zero), ``total(x)`` (sum of the lanes), ``has_nan(x)``, ``chosen(a, i)`` (which of the next
bytes, one a lane, are not zero), ``count_of(m)`` (how many those are), ``packed(x, m)`` (the chosen
lanes first, then zeros; of 16 lanes), ``nonzero(x)`` (an integer with a bit for each lane that is
not zero, the first lane's the lowest), ``lowest(n)`` (the number of an integer's lowest bit that is
set), ``prefetch1(a, i)`` and ``prefetch2(a, i)`` (the element's cache line on its way to the first
or second level, wherever i points), and ``anchored(a)``: the array, at an address in a register of
its own.  The compiler then keeps no element of it for later, and addresses are a register and a
constant; with an index register besides, Intel's processors split an instruction that loads and
multiplies in two.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from rooftile.devices.cpu.native.build import processor
from rooftile.devices.cpu.native.types import (
    BOOL,
    FLOAT,
    INTEGER,
    NONE,
    Function,
    Type,
    Value,
    constant,
    vector_type,
)
from rooftile.devices.cpu.native.vector_shuffles import SHUFFLES

if TYPE_CHECKING:
    from rooftile.devices.cpu.native.expressions import Expressions


@cache
def lanes() -> int:
    """float32 lanes of a vector here: 16 with AVX-512, else 8 (AVX2; on NEON two registers)."""
    return _LANES_OF_AVX512 if "+avx512f" in processor()[1].split(",") else 8


@cache
def gathers_in_hardware() -> bool:
    """True if a gather under a mask takes less than its loads one by one: with AVX-512, but not on
    AMD's processors, whose microcode does gathers."""
    return lanes() == _LANES_OF_AVX512 and not processor()[0].startswith("znver")


@cache
def registers() -> int:
    """Number of the processor's vector registers of `lanes`."""
    return 32 if lanes() == 16 else 16


def _vector(to: Expressions) -> Type:
    return vector_type(to.lanes)


def _mask_of(to: Expressions) -> Type:
    return Type("mask", "mask", f"<{to.lanes} x i1>")


_LANES_OF_AVX512 = 16
_NOTHING = Value(NONE, "")
_ADDRESS = Type("address", "array", "ptr")
_WORD = Type("word", "integer", "i32")
_ALIGNMENT = Value(_WORD, "4")


def _load(to: Expressions, given: list[Value]) -> Value:
    of, place = _vector(to), to.address(*given)
    return to.made(of, f"load {of.llvm}, ptr {place}, align 4")


def _store(
    alignment: int | None = None, stream: bool = False
) -> Callable[[Expressions, list[Value]], Value]:
    """A store on a boundary of ``alignment`` bytes, by default the vector's own."""

    def write(to: Expressions, given: list[Value]) -> Value:
        array, index, value = given
        hint = ", !nontemporal !0" if stream else ""
        place = to.address(array, index)
        on = alignment or 4 * to.lanes
        to.write(f"store {value.type.llvm} {value.name}, ptr {place}, align {on}{hint}")
        return _NOTHING

    return write


def _mask(to: Expressions, count: Value) -> Value:
    """The mask of the first ``count`` lanes: empty where ``count`` is negative."""
    numbers = f"<{', '.join(f'i64 {k}' for k in range(to.lanes))}>"
    counts = _splat_of(to, count, f"<{to.lanes} x i64>")
    return to.made(_mask_of(to), f"icmp slt <{to.lanes} x i64> {numbers}, {counts}")


def _place(to: Expressions, array: Value, index: Value) -> Value:
    return Value(_ADDRESS, to.address(array, index))


def _load_part(to: Expressions, given: list[Value]) -> Value:
    array, index, count = given
    of, mask = _vector(to), _mask(to, count)
    zero = Value(of, "zeroinitializer")
    given = [_place(to, array, index), _ALIGNMENT, mask, zero]
    return to.intrinsic(f"llvm.masked.load.v{to.lanes}f32.p0", of, given)


def _store_part(to: Expressions, given: list[Value]) -> Value:
    array, index, value, count = given
    if to.lanes < _LANES_OF_AVX512 and count.name.isdigit():
        return _store_pieces(to, given)
    mask = _mask(to, count)
    given = [value, _place(to, array, index), _ALIGNMENT, mask]
    return to.intrinsic(f"llvm.masked.store.v{to.lanes}f32.p0", NONE, given)


def _store_pieces(to: Expressions, given: list[Value]) -> Value:
    """Store a literal number of lanes by halves, quarters and eighths: under a mask of AVX2 a store
    takes an AMD processor more than ten times as long."""
    array, index, value, count = given
    place, whole = to.address(array, index), value.type.llvm
    done, left = 0, min(int(count.name), to.lanes)
    while left:
        size = 1 << (left.bit_length() - 1)
        lanes = ", ".join(f"i32 {done + k}" for k in range(size))
        of = Type("piece", "vector", f"<{size} x float>")
        pick = f"shufflevector {whole} {value.name}, {whole} poison, <{size} x i32> <{lanes}>"
        piece = to.made(of, pick).name
        at = to.made(_ADDRESS, f"getelementptr float, ptr {place}, i64 {done}").name
        to.write(f"store {of.llvm} {piece}, ptr {at}, align 4")
        done, left = done + size, left - size
    return _NOTHING


def _store_between(to: Expressions, given: list[Value]) -> Value:
    array, index, value, first, last = given
    before, until = _mask(to, first), _mask(to, last)
    of = until.type.llvm
    words = f"select {of} {before.name}, {of} zeroinitializer, {of} {until.name}"
    mask = to.made(until.type, words)
    given = [value, _place(to, array, index), _ALIGNMENT, mask]
    return to.intrinsic(f"llvm.masked.store.v{to.lanes}f32.p0", NONE, given)


def _joined(to: Expressions, given: list[Value]) -> Value:
    count, x, y = given
    mask, of = _mask(to, count), x.type.llvm
    return to.made(x.type, f"select {mask.type.llvm} {mask.name}, {of} {x.name}, {of} {y.name}")


def _splat_of(to: Expressions, scalar: Value, of: str) -> str:
    """The name of a vector whose lanes are all the same."""
    first = to.made(
        scalar.type, f"insertelement {of} poison, {scalar.type.llvm} {scalar.name}, i32 0"
    )
    zeros = f"<{to.lanes} x i32> zeroinitializer"
    return to.made(scalar.type, f"shufflevector {of} {first.name}, {of} poison, {zeros}").name


def _splat(to: Expressions, given: list[Value]) -> Value:
    of = _vector(to)
    return Value(of, _splat_of(to, to.convert(given[0], FLOAT), of.llvm))


def _splat_at(to: Expressions, given: list[Value]) -> Value:
    return _splat(to, [to.element(*given)])


def _operation(instruction: str) -> Callable[[Expressions, list[Value]], Value]:
    def write(to: Expressions, given: list[Value]) -> Value:
        x, y = given
        return to.made(x.type, f"{instruction} {x.type.llvm} {x.name}, {y.name}")

    return write


def _fma(to: Expressions, given: list[Value]) -> Value:
    return to.intrinsic(f"llvm.fma.v{to.lanes}f32", _vector(to), given)


def _select(to: Expressions, condition: str, x: Value, y: Value, yes: Value, no: Value) -> Value:
    """Lane by lane ``yes`` where the condition holds of x and y, else ``no``."""
    of = x.type.llvm
    found = to.made(BOOL, f"fcmp {condition} {of} {x.name}, {y.name}").name
    return to.made(x.type, f"select <{to.lanes} x i1> {found}, {of} {yes.name}, {of} {no.name}")


def _extreme(condition: str) -> Callable[[Expressions, list[Value]], Value]:
    def write(to: Expressions, given: list[Value]) -> Value:
        # The processor's maximum gives y where either is NaN: only x's NaN needs care.
        x, y = given
        found = _select(to, condition, x, y, x, y)
        return _select(to, "uno", x, x, x, found)

    return write


def _relu(to: Expressions, given: list[Value]) -> Value:
    (x,) = given
    zero = Value(x.type, "zeroinitializer")
    return _select(to, "ogt", zero, x, zero, x)


def _positive(to: Expressions, given: list[Value]) -> Value:
    (x,) = given
    one = Value(x.type, f"splat (float {constant(1.0, FLOAT).name})")
    zero = Value(x.type, "zeroinitializer")
    return _select(to, "ogt", x, zero, one, zero)


def _last_of(to: Expressions, given: list[Value]) -> Value:
    (x,) = given
    return to.made(FLOAT, f"extractelement {x.type.llvm} {x.name}, i32 {to.lanes - 1}")


def _total(to: Expressions, given: list[Value]) -> Value:
    zero = constant(0.0, FLOAT)
    name = f"llvm.vector.reduce.fadd.v{to.lanes}f32"
    return to.intrinsic(name, FLOAT, [zero, *given], "reassoc ")


def _prefetch(level: int) -> Callable[[Expressions, list[Value]], Value]:
    # To read, as data; LLVM counts the levels of the cache from the far end.
    how = [Value(_WORD, number) for number in ("0", str(4 - level), "1")]

    def write(to: Expressions, given: list[Value]) -> Value:
        return to.intrinsic("llvm.prefetch.p0", NONE, [_place(to, *given), *how])

    return write


def _anchored(to: Expressions, given: list[Value]) -> Value:
    (array,) = given
    address = to.made(array.type, f'call ptr asm "", "=r,0"(ptr {array.name})').name
    return Value(array.type, address, array.count)


def _gathered(to: Expressions, given: list[Value], mask: Value) -> Value:
    """The elements of an array at the indices, int32, that lie in another from a place on."""
    array, indices, index = given
    numbers, of = f"<{to.lanes} x i32>", _vector(to)
    if indices.type.llvm != "int32":
        from rooftile.devices.cpu.native.instructions import KernelError

        raise KernelError(f"elements are gathered by indices of int32, not of {indices.type.name}")
    place = _place(to, indices, index)
    words = Type("words", "vector", numbers)
    zero, nothing = Value(words, "zeroinitializer"), Value(of, "zeroinitializer")
    masked = [place, _ALIGNMENT, mask, zero]
    found = to.intrinsic(f"llvm.masked.load.v{to.lanes}i32.p0", words, masked)
    addresses = Type("addresses", "vector", f"<{to.lanes} x ptr>")
    at = to.made(addresses, f"getelementptr float, ptr {array.name}, {numbers} {found.name}")
    return to.intrinsic(
        f"llvm.masked.gather.v{to.lanes}f32.v{to.lanes}p0", of, [at, _ALIGNMENT, mask, nothing]
    )


def _gather(to: Expressions, given: list[Value]) -> Value:
    every = ", ".join(["i1 true"] * to.lanes)
    mask = Value(Type("mask", "mask", f"<{to.lanes} x i1>"), f"<{every}>")
    return _gathered(to, given, mask)


def _gather_part(to: Expressions, given: list[Value]) -> Value:
    *places, count = given
    return _gathered(to, places, _mask(to, count))


def _has_nan(to: Expressions, given: list[Value]) -> Value:
    (x,) = given
    found = to.made(_mask_of(to), f"fcmp uno {x.type.llvm} {x.name}, {x.name}")
    return to.intrinsic(f"llvm.vector.reduce.or.v{to.lanes}i1", BOOL, [found])


def _chosen(to: Expressions, given: list[Value]) -> Value:
    of, bytes_of = _mask_of(to), f"<{to.lanes} x i8>"
    loaded = to.made(of, f"load {bytes_of}, ptr {to.address(*given)}, align 1").name
    return to.made(of, f"icmp ne {bytes_of} {loaded}, zeroinitializer")


def _count_of(to: Expressions, given: list[Value]) -> Value:
    (mask,) = given
    bits = to.made(INTEGER, f"bitcast {mask.type.llvm} {mask.name} to i{to.lanes}").name
    wide = to.made(INTEGER, f"zext i{to.lanes} {bits} to i64")
    return to.intrinsic("llvm.ctpop.i64", INTEGER, [wide])


def _packed(to: Expressions, given: list[Value]) -> Value:
    if to.lanes != _LANES_OF_AVX512:
        from rooftile.devices.cpu.native.instructions import KernelError

        raise KernelError(f"lanes are packed by AVX-512 alone, not in vectors of {to.lanes}")
    x, mask = given
    zeros = Value(x.type, "zeroinitializer")
    return to.intrinsic(f"llvm.x86.avx512.mask.compress.v{to.lanes}f32", x.type, [x, zeros, mask])


def _nonzero(to: Expressions, given: list[Value]) -> Value:
    (x,) = given
    found = to.made(BOOL, f"fcmp une {x.type.llvm} {x.name}, zeroinitializer").name
    bits = to.made(INTEGER, f"bitcast <{to.lanes} x i1> {found} to i{to.lanes}").name
    return to.made(INTEGER, f"zext i{to.lanes} {bits} to i64")


def _lowest(to: Expressions, given: list[Value]) -> Value:
    return to.intrinsic("llvm.cttz.i64", INTEGER, [*given, Value(BOOL, "true")])


VECTORS = SHUFFLES | {
    name: Function(name, write)
    for name, write in {
        "load": _load, "load_part": _load_part, "store": _store(4),
        "store_part": _store_part, "store_between": _store_between, "store_aligned": _store(),
        "stream": _store(None, True), "stream_quads": _store(16, True),
        "splat": _splat, "splat_at": _splat_at, "add": _operation("fadd"),
        "subtract": _operation("fsub"), "multiply": _operation("fmul"),
        "divide": _operation("fdiv"), "fma": _fma, "joined": _joined,
        "maximum": _extreme("ogt"), "minimum": _extreme("olt"), "relu": _relu,
        "last_of": _last_of, "positive": _positive,
        "gather": _gather, "gather_part": _gather_part,
        "total": _total, "has_nan": _has_nan, "prefetch1": _prefetch(1), "prefetch2": _prefetch(2),
        "anchored": _anchored, "chosen": _chosen, "count_of": _count_of, "packed": _packed,
        "nonzero": _nonzero, "lowest": _lowest,
    }.items()
}  # fmt: skip
"""The functions by name."""
