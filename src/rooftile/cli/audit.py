"""Judge a foreign kernel: is it right, is it honest, how fast, how far from the roof.

KERNEL is FILE:FUNCTION.  A Python function takes the problem's arrays (x, weights, bias; of
NumPy, PyTorch or CuPy) and returns the result, or writes it into `out`.  It is also given each
field of the problem (stride, padding, activation, pool, problem, ...) that one of its parameters
is named after.  A kernel of a .cu or .cl file needs --launch.  Exit code 0: every check passed;
1: one failed; 2: wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rooftile.cli._output import Output, milliseconds, percent, quantity, table
from rooftile.errors import InputError

if TYPE_CHECKING:
    from rooftile.lab.audit import Audit

_USAGE = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("kernel", metavar="KERNEL", help="FILE:FUNCTION")
    parser.add_argument("--op", required=True, metavar="OP", help="conv2d, linear, ...")
    parser.add_argument(
        "--shape",
        required=True,
        metavar="NAME|key=value,...",
        help="a named problem, or its sizes, as in rooftile climb",
    )
    parser.add_argument("--batch", type=int, metavar="N", help="inputs at a time")
    parser.add_argument(
        "--precision",
        default="ieee",
        metavar="ieee|fast|tf32|fp16|bf16",
        help="what the kernel claims of its arithmetic (default ieee)",
    )
    parser.add_argument(
        "--arrays",
        default="auto",
        metavar="auto|numpy|torch|cupy",
        help="whose arrays the function takes (default: as its file imports)",
    )
    parser.add_argument(
        "--launch",
        default="",
        metavar="LINE",
        help="of a text: 'grid=ceil(columns/16),rows,batch block=16 args=x,weights,bias,out,height "
        "[shared=BYTES] [define=NAME:EXPRESSION,...]'",
    )
    parser.add_argument(
        "--allow-library", action="store_true", help="vendor libraries may do the work"
    )
    parser.add_argument(
        "--fixed-shape", action="store_true", help="the kernel is made for this shape alone"
    )
    parser.add_argument(
        "--nondeterministic", action="store_true", help="two runs may differ in their last bits"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=40.0,
        metavar="S",
        help="a call of more seconds is a hang (default 40)",
    )
    parser.add_argument(
        "--require-isolation",
        action="store_true",
        help="refuse to judge a Python kernel that cannot be isolated on this machine",
    )
    parser.add_argument("--no-history", action="store_true", help="do not record the result")


def command(arguments: argparse.Namespace) -> int:
    """Audit, print the verdicts."""
    from rooftile.lab.audit import Foreign, NotIsolated, UnusableKernel, audit
    from rooftile.lab.history.store import History
    from rooftile.ops import parse

    output = Output(arguments)
    try:
        kernel = Foreign.parse(
            arguments.kernel, arguments.device, arguments.arrays, arguments.launch
        )
        problem = parse(arguments.op, arguments.shape, arguments.batch)
        with output.working(f"auditing {arguments.kernel}") as say:
            found = audit(
                kernel,
                problem,
                precision=arguments.precision,
                allow_library=arguments.allow_library,
                fixed_shape=arguments.fixed_shape,
                deterministic=not arguments.nondeterministic,
                limit_s=arguments.limit,
                seed=arguments.seed,
                require_isolation=arguments.require_isolation,
                progress=say,
            )
    except (InputError, NotIsolated, UnusableKernel) as error:
        if arguments.debug:
            raise
        print(f"rooftile: {error}", file=sys.stderr)
        return _USAGE
    if not arguments.no_history:
        with History() as history:
            history.add_ladder(found.ladder(), "audit", seed=arguments.seed)
    output.result(found.to_json())
    _show(output, found)
    return 0 if found.passed else 1


def _show(output: Output, found: Audit) -> None:
    problem = found.problem
    verdicts = table("check", "verdict", "evidence")
    verdicts.columns[2].no_wrap = False
    for check in found.checks:
        verdicts.add_row(check.name, check.status, check.evidence)
    work = f"{quantity(problem.flops, 'FLOP')}, at least {quantity(problem.bytes, 'B')}"
    output.show(
        f"{found.name} as {problem}", f"{work}; claimed precision: {found.claim}", "", verdicts
    )
    output.show("", *_speed(found))
    if not found.kernel.text:
        output.show(f"isolation: {found.isolation}")
    if found.noise:
        output.show("", "it printed:", found.noise)


def _speed(found: Audit) -> list[str]:
    failed = [check.name for check in found.checks if check.status == "failed"]
    if failed:
        return [f"failed: {', '.join(failed)}; no time"]
    lines = ["passed"]
    if found.error is not None:
        lines[0] += f": the worst error is {found.error.budget_fraction:.2g} of its budget"
    timing = found.time_ms
    if timing is not None:
        text = found.kernel.text
        what = "a launch, by the device's clock" if text else "a call on new inputs, all told"
        rate = quantity(1e3 * found.problem.flops / timing.median, "FLOP/s")
        settled = "" if timing.steady else "; the median had not settled"
        lines.append(f"{milliseconds(timing.median)} ms {what}; {rate}{settled}")
    if found.cold_ms is not None:
        lines.append(f"{milliseconds(found.cold_ms.median)} ms with nothing of it in cache")
    if found.first_call_ms is not None:
        lines.append(f"{milliseconds(found.first_call_ms)} ms the first call")
    if found.roof_fraction is not None:
        lines.append(
            f"{percent(found.roof_fraction)} of the measured roof, which {found.limit} sets"
        )
    used = {
        "registers a thread": found.resources.registers,
        "bytes of shared memory a block": found.resources.shared_bytes,
        "bytes spilled a thread": found.resources.spill_bytes,
    }
    told = [f"{count} {name}" for name, count in used.items() if count is not None]
    if told:
        lines.append(", ".join(told))
    return lines
