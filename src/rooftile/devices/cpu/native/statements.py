"""Translate functions of the kernel language into LLVM's text.

A variable has the type of what is first assigned to it.  Generated text may use one name for a
number and then for a vector; it means what was assigned last above it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rooftile.devices.cpu.native.expressions import Expressions
from rooftile.devices.cpu.native.functions import FUNCTIONS
from rooftile.devices.cpu.native.instructions import KernelError
from rooftile.devices.cpu.native.types import (
    ELEMENTS,
    INTEGER,
    NONE,
    Element,
    Type,
    Value,
    literal,
)


@dataclass(frozen=True)
class Translated:
    """A function for arguments of certain types: its name in LLVM's text and its result's type."""

    name: str
    result: Type


class Module:
    """Functions that are translated together, each once for the types that it is called with."""

    def __init__(self, lanes: int, *, spelled_out: bool = False) -> None:
        self.lanes = lanes
        self.spelled_out = spelled_out
        """True if loops are over vectors, and stay: LLVM would call libc where one copies or fills
        memory, which takes longer than the few vectors of a row."""
        self._functions: dict[tuple[Any, tuple[Type, ...]], Translated] = {}
        self._texts: list[str] = []
        self._declared: dict[str, str] = {}

    def translated(self, function: Any, types: tuple[Type, ...]) -> Translated:
        """A function (see `rooftile.devices.cpu.native.program`) for arguments of these types."""
        key = function, types
        if key not in self._functions:
            name = f"{function.name}.{len(self._functions)}"
            result, text = Statements(self, function).translate(name, types)
            self._functions[key] = Translated(name, result)
            self._texts.append(text)
        return self._functions[key]

    def declare(self, name: str, declaration: str) -> None:
        """Declare an external function."""
        self._declared[name] = declaration

    def text(self) -> str:
        """Everything so far."""
        return "\n".join([*self._declared.values(), *self._texts])


class Statements(Expressions):
    """Translates one function."""

    def __init__(self, module: Module, function: Any) -> None:
        super().__init__(function.known, function.flags, module.lanes)
        self._module, self._tree = module, function.tree
        self._locals: list[str] = []
        self._slots: dict[tuple[str, Type], Value] = {}
        self._variables: dict[str, Type] = {}
        self._loops: list[tuple[str, str]] = []
        self._result: Type | None = None

    def translate(self, name: str, types: tuple[Type, ...]) -> tuple[Type, str]:
        """The type of the result, and the text of the function for arguments of these types."""
        parameters = []
        for argument, of in zip(self._tree.args.args, types, strict=True):
            given = Value(of, f"%given.{argument.arg}", f"%count.{argument.arg}")
            if of.kind == "array":
                parameters += [f"ptr noalias {given.name}", f"i64 {given.count}"]
            else:
                parameters.append(f"{of.llvm} {given.name}")
            self._assign_name(argument.arg, given)
        self._body(self._tree.body)
        if self._result in (None, NONE):
            self._result = NONE
            self.write("ret void")
        else:
            self.write("unreachable")
        head = f"define internal {self._result.llvm} @{name}({', '.join(parameters)})"
        head += f"{self._marks()} {{"
        return self._result, "\n".join([head, "start:", *self._locals, *self._lines, "}\n"])

    def _marks(self) -> str:
        """LLVM's attributes of the function: one marked `apart` is not inlined and is compiled by
        itself."""
        marks = [ast.unparse(mark) for mark in self._tree.decorator_list]
        if marks not in ([], ["apart"]):
            raise KernelError(f"{self._tree.name}: @{marks[0]} is no mark of a function")
        words = ["noinline"] if marks else []
        words += ['"no-builtins"'] if self._module.spelled_out else []
        return "".join(f" {word}" for word in words)

    # What expressions ask for

    def variable(self, name: str) -> Value | None:
        of = self._variables.get(name)
        if of is None:
            return None
        slot = self._slots[name, of]
        if of.kind != "array":
            return self.made(of, f"load {of.llvm}, ptr {slot.name}")
        address = self.made(of, f"load ptr, ptr {slot.name}").name
        return Value(of, address, self.made(INTEGER, f"load i64, ptr {slot.count}").name)

    def call(self, function: Any, given: list[Value]) -> Value:
        if function in FUNCTIONS:
            return FUNCTIONS[function].write(self, given)
        if not hasattr(function, "tree"):
            raise KernelError(f"kernels cannot call {function!r}")
        types = tuple(value.type for value in given)
        return self._call_of(self._module.translated(function, types), given)

    def _call_of(self, translated: Translated, given: list[Value]) -> Value:
        """Call a function that has been translated for these arguments."""
        words = []
        for value in given:
            if value.type.kind == "array":
                words += [f"ptr {value.name}", f"i64 {value.count}"]
            else:
                words.append(f"{value.type.llvm} {value.name}")
        call = f"call {translated.result.llvm} @{translated.name}({', '.join(words)})"
        if translated.result is NONE:
            self.write(call)
            return Value(NONE, "")
        return self.made(translated.result, call)

    def intrinsic(self, name: str, result: Type, given: list[Value], flags: str = "") -> Value:
        """The result of a function of LLVM's or of the C library."""
        types = ", ".join(value.type.llvm for value in given)
        self._module.declare(name, f"declare {result.llvm} @{name}({types})")
        words = ", ".join(f"{value.type.llvm} {value.name}" for value in given)
        call = f"call {flags}{result.llvm} @{name}({words})"
        if result is NONE:
            self.write(call)
            return Value(NONE, "")
        return self.made(result, call)

    def local(self, count: Value, element: Element) -> Value:
        """An array on the stack."""
        if count.literal is None:
            raise KernelError("an array of the kernel's own has a literal size")
        name = self.new()
        self._locals.append(f"{name} = alloca {element.stored}, i64 {count.name}, align 64")
        return Value(element.array, name, count.name)

    # Statements

    def _body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            method = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if method is None:
                raise KernelError(f"no {type(statement).__name__} in kernels")
            method(statement)

    def _assign(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.Tuple):
            values = [self.value(part) for part in node.value.elts]
            for target in node.targets:
                assert isinstance(target, ast.Tuple)
                for part, value in zip(target.elts, values, strict=True):
                    self._assign_to(part, value)
            return
        value = self.value(node.value)
        for target in node.targets:
            if isinstance(target, ast.Tuple):
                for k, part in enumerate(target.elts):
                    self._assign_to(part, self.element(value, literal(k)))
            else:
                self._assign_to(target, value)

    def _augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Subscript):
            array, index = self.value(node.target.value), self.number(node.target.slice)
            before = self.element(array, index)
            self.put(array, index, self.operate(node.op, before, self.value(node.value)))
        else:
            assert isinstance(node.target, ast.Name)
            before = self._name(node.target)
            self._assign_to(node.target, self.operate(node.op, before, self.value(node.value)))

    def _assign_to(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self._assign_name(target.id, value)
        elif isinstance(target, ast.Subscript):
            self.put(self.value(target.value), self.number(target.slice), value)
        else:
            raise KernelError(f"an assignment to {ast.unparse(target)}")

    def _assign_name(self, name: str, value: Value) -> None:
        before, of = self._variables.get(name), value.type
        if before is not None and before is not of and before.scalar and of.scalar:
            if (before.kind, of.kind) not in (("integer", "bool"), ("float", "float")):
                raise KernelError(f"{name} is a {before.name}, and a {of.name} is assigned to it")
            value, of = self.convert(value, before), before
        if of is NONE:
            raise KernelError(f"nothing is assigned to {name}")
        self._variables[name] = of
        slot = self._slots.get((name, of))
        if slot is None:
            slot = self._slots[name, of] = self._new_slot(of)
        if of.kind == "array":
            self.write(f"store ptr {value.name}, ptr {slot.name}")
            self.write(f"store i64 {value.count}, ptr {slot.count}")
        else:
            self.write(f"store {of.llvm} {value.name}, ptr {slot.name}")

    def _new_slot(self, of: Type) -> Value:
        name, count = self.new(), ""
        self._locals.append(f"{name} = alloca {'ptr' if of.kind == 'array' else of.llvm}")
        if of.kind == "array":
            count = self.new()
            self._locals.append(f"{count} = alloca i64")
        return Value(of, name, count)

    def _expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.value(node.value)

    def _pass(self, node: ast.Pass) -> None:
        """Nothing."""

    def _if(self, node: ast.If) -> None:
        yes, no, after = self.label("then"), self.label("else"), self.label("after")
        self.branch(self.value(node.test), yes, no if node.orelse else after)
        for label, body in ((yes, node.body), (no, node.orelse)):
            if body:
                self.begin(label)
                self._body(body)
                self.jump(after)
        self.begin(after)

    def _while(self, node: ast.While) -> None:
        again, body, after = self.label("while"), self.label("body"), self.label("after")
        self.jump(again)
        self.begin(again)
        self.branch(self.value(node.test), body, after)
        self.begin(body)
        self._loop_body(node.body, again, after)
        self.begin(after)

    def _for(self, node: ast.For) -> None:
        assert isinstance(node.target, ast.Name)
        counter = self._new_slot(INTEGER)
        first, last, step = self._range(node.iter)
        self.write(f"store i64 {first.name}, ptr {counter.name}")
        again, body = self.label("for"), self.label("body")
        following, after = self.label("next"), self.label("after")
        self.jump(again)
        self.begin(again)
        at = self.made(INTEGER, f"load i64, ptr {counter.name}")
        condition = "sgt" if (step.literal or 1) < 0 else "slt"
        self.write(f"{at.name}.more = icmp {condition} i64 {at.name}, {last.name}")
        self.write(f"br i1 {at.name}.more, label %{body}, label %{after}")
        self.begin(body)
        self._assign_name(node.target.id, at)
        self._loop_body(node.body, following, after)
        self.begin(following)
        raised = self.made(INTEGER, f"add nsw i64 {at.name}, {step.name}")
        self.write(f"store i64 {raised.name}, ptr {counter.name}")
        self.jump(again)
        self.begin(after)

    def _range(self, node: ast.expr) -> tuple[Value, Value, Value]:
        """First number, the one before which to stop, and step."""
        if not (isinstance(node, ast.Call) and self._object(node.func) is range):
            raise KernelError("loops of kernels go over ranges")
        given = [self.number(argument) for argument in node.args]
        if len(given) == 1:
            return literal(0), given[0], literal(1)
        return given[0], given[1], given[2] if len(given) > 2 else literal(1)

    def _loop_body(self, body: list[ast.stmt], again: str, after: str) -> None:
        """Write a loop's statements; the next round begins at ``again``."""
        self._loops.append((again, after))
        self._body(body)
        self.jump(again)
        self._loops.pop()

    def _continue(self, node: ast.Continue) -> None:
        self._leave(self._loops[-1][0])

    def _break(self, node: ast.Break) -> None:
        self._leave(self._loops[-1][1])

    def _leave(self, label: str) -> None:
        """Go elsewhere; what follows in the text is never reached."""
        self.jump(label)
        self.begin(self.label("unreached"))

    def _return(self, node: ast.Return) -> None:
        value = self.value(node.value) if node.value else Value(NONE, "")
        if self._result not in (None, value.type):
            raise KernelError(f"{self._tree.name} returns values of different types")
        self._result = value.type
        self.write("ret void" if value.type is NONE else f"ret {value.type.llvm} {value.name}")
        self.begin(self.label("unreached"))


def kernel_text(module: Module, function: Any, dtypes: Sequence[str], scratch: bool) -> str:
    """LLVM's text of a kernel and of its entry ``entry(row, thread, begin, end)``.

    The row has address and count of each array, of the scratch where there is one, of sizes.
    """
    arrays = [ELEMENTS[dtype] for dtype in dtypes]
    held = [*arrays, *([ELEMENTS["float32"]] if scratch else []), ELEMENTS["int64"]]
    kernel = module.translated(function, (*(e.array for e in held), INTEGER, INTEGER))
    lines, given = [], []
    for k, _ in enumerate(held):
        for word, at in (("a", 2 * k), ("n", 2 * k + 1)):
            lines += [
                f"%{word}{k}.at = getelementptr i64, ptr %row, i64 {at}",
                f"%{word}{k} = load i64, ptr %{word}{k}.at",
            ]
        address = f"%a{k}"
        if scratch and k == len(arrays):
            # Each thread has its own.
            lines += [
                f"%own.floats = mul i64 %n{k}, %thread",
                "%own.bytes = mul i64 %own.floats, 4",
                f"%own = add i64 %a{k}, %own.bytes",
            ]
            address = "%own"
        lines.append(f"%p{k} = inttoptr i64 {address} to ptr")
        given += [f"ptr %p{k}", f"i64 %n{k}"]
    call = f"call void @{kernel.name}({', '.join(given)}, i64 %begin, i64 %end)"
    head = "define void @entry(ptr %row, i64 %thread, i64 %begin, i64 %end) {"
    return "\n".join([module.text(), head, *lines, call, "ret void", "}\n", "!0 = !{i32 1}\n"])
