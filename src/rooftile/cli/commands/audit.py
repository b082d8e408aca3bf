"""Judge a foreign kernel: is it right, is it honest, how fast, how far from the roof.

KERNEL is FILE:FUNCTION.  A Python function takes the problem's arrays (x, weights, bias; of
NumPy, PyTorch or CuPy) and returns the result, or writes it into `out`.  It is also given each
field of the problem (stride, padding, activation, pool, problem, ...) that one of its parameters
is named after.  A kernel of a .cu or .cl file needs --launch.  Exit code 0: every check passed;
1: one failed; 2: wrong usage.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rooftile.cli._options import add_precision, add_problem, seconds, shape_of
from rooftile.cli.render.output import Output, milliseconds, percent, quantity
from rooftile.cli.render.records import recording, warn_if_busy
from rooftile.cli.render.sheet import Sheet
from rooftile.cli.render.standing import standing
from rooftile.errors import InputError

if TYPE_CHECKING:
    from rich.text import Text

    from rooftile.lab.audit import Audit


_CALL = "a call on new inputs, all told"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("kernel", metavar="KERNEL", help="FILE:FUNCTION")
    parser.add_argument(
        "--op",
        required=True,
        metavar="OP",
        help="what it computes: rooftile list names operations",
    )
    add_problem(parser)
    add_precision(parser, "what the kernel claims of its arithmetic (default ieee)", "ieee")
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
        type=seconds,
        default=40.0,
        metavar="S",
        help="seconds that the kernel may take for all that it is asked, and the judge's own work "
        "(default 40)",
    )
    parser.add_argument(
        "--require-isolation",
        action="store_true",
        help="refuse to judge a Python kernel that cannot be isolated on this machine",
    )
    parser.add_argument("--no-history", action="store_true", help="do not record the result")


def command(arguments: argparse.Namespace) -> int:
    """Audit, print the verdicts."""
    from rooftile.lab.audit import NotIsolated, UnusableKernel, plain_words

    output = Output(arguments)
    try:
        with recording(output, not arguments.no_history) as history:
            found = _audited(arguments, output)
            if history is not None:
                history.add_ladder(found.ladder(), "audit", seed=arguments.seed)
            standings = standing(found, arguments, output, history)
    except UnusableKernel as error:
        given = plain_words(arguments.kernel)
        raise InputError("kernel", given, f"one that can be called: {error}") from error
    except NotIsolated as error:
        raise InputError("kernel", plain_words(arguments.kernel), str(error)) from error
    output.result(found.to_json())
    _show(output, found, standings)
    warn_if_busy(output, {found.name: found.time_ms})
    return 0 if found.passed else 1


def _audited(arguments: argparse.Namespace, output: Output) -> Audit:
    from rooftile.lab.audit import Foreign, audit
    from rooftile.ops import parse

    kernel = Foreign.parse(arguments.kernel, arguments.device, arguments.arrays, arguments.launch)
    problem = parse(arguments.op, shape_of(arguments, arguments.op), arguments.batch)
    with output.working(f"auditing {kernel.name}") as say:
        return audit(
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


def _show(output: Output, found: Audit, standings: list[str]) -> None:
    """Print the verdict, then the speed next to other kernels, then the checks."""
    problem = found.problem
    checks = Sheet("check", "verdict", "evidence", wraps=["evidence"])
    for check in found.checks:
        if check.status != "not reached":
            checks.add_row(check.name, check.status, check.evidence)
    work = f"{quantity(problem.flops, 'FLOP')}, at least {quantity(problem.bytes, 'B')}"
    about = (f"{found.name} as {problem}", f"{work}; claimed precision: {found.claim}")
    output.show(_verdict(found), *_speed(found), *standings, "", *about, "", checks)
    missed = [check.name for check in found.checks if check.status == "not reached"]
    if missed:
        output.show("", f"not reached: {', '.join(missed)}")
    if not found.kernel.text or found.kernel.kind == "opencl":
        output.show("", f"isolation: {found.isolation}")
    if found.noise:
        # Each of a stranger's lines shows whose it is.
        output.show("", "it printed:", *(f"| {line}" for line in found.noise.split("\n")))


def _verdict(found: Audit) -> Text:
    """The verdict in a line: right and honest or not; green or red where the screen has colours."""
    from rich.text import Text

    from rooftile.lab.audit import HONESTY

    failed = [check.name for check in found.checks if check.status == "failed"]
    if failed:
        wrong = [name for name in failed if name not in HONESTY]
        unfair = [name for name in failed if name in HONESTY]
        said = [f"not right ({', '.join(wrong)})"] * bool(wrong)
        said += [f"not honest ({', '.join(unfair)})"] * bool(unfair)
        hint = "; --allow-library admits vendor libraries" if "library" in failed else ""
        return Text(f"failed: {', '.join(said)}; no time{hint}", style="bold red")
    worst = found.error.budget_fraction if found.error is not None else 0.0
    what = "right and honest; the worst error is"
    return Text(f"passed: {what} {worst:.2g} of its budget", style="bold green")


def _speed(found: Audit) -> list[str]:
    lines = []
    timing = found.time_ms
    if timing is not None:
        text = found.kernel.text
        what = "a launch on new inputs, by the judge's clock" if text else _CALL
        if found.cold_ms is not None:
            what = "a launch on new inputs, by the device's clock"
        rate = quantity(1e3 * found.problem.flops / timing.median, "FLOP/s")
        settled = "" if timing.steady else "; the median had not settled"
        lines.append(f"{milliseconds(timing.median)} ms {what}; {rate}{settled}")
    if found.hard_ms is not None:
        lines.append(f"{milliseconds(found.hard_ms.median)} ms with hard inputs among them")
    if found.cold_ms is not None:
        lines.append(f"{milliseconds(found.cold_ms.median)} ms with nothing of it in cache")
    if found.first_call_ms is not None:
        lines.append(f"{milliseconds(found.first_call_ms)} ms the first call")
    if found.roof_fraction is not None and found.floor_ms is not None:
        lines.append(
            f"{1 / found.roof_fraction:.3g} x its floor of {found.floor_ms:.3g} ms, which "
            f"{found.limit} sets: {percent(found.roof_fraction)} of the measured roof"
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
