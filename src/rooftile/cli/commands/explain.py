"""Say why a strategy takes the time it takes.

It prints what an engineer works out on paper before writing a kernel: FLOPs, bytes, the launch,
occupancy, divergence, traffic and what bounds them. It also prints the measured time and what to
try next. A GPU's strategies are explained without a GPU too, for a named architecture.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rooftile.cli._options import (
    add_large,
    add_operation,
    add_problem,
    check_writable,
    shapes_of,
)
from rooftile.cli.render.explanation import (
    bound_lines,
    comparison_table,
    cpu_lines,
    gpu_lines,
    kernel_lines,
    stall_lines,
    title,
    why_lines,
)
from rooftile.cli.render.output import Output

if TYPE_CHECKING:
    from rooftile.lab.show.explain import Explanation, Measured
    from rooftile.lab.show.explain.counters import Counters
    from rooftile.lab.show.explain.profile import Comparison
    from rooftile.ops import Problem
    from rooftile.strategies import Strategy
    from rooftile.strategies.contract.gpu import GpuStrategy


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    add_operation(parser)
    add_problem(parser)
    add_large(parser)
    parser.add_argument(
        "--strategy", metavar="NAME", help="the rung to explain (default: the one that is picked)"
    )
    parser.add_argument(
        "--config",
        type=_config,
        metavar="NAME=N,...",
        help="tunables (default: the measured time's, else the strategy's own)",
    )
    parser.add_argument(
        "--architecture",
        metavar="sm_NN",
        help="explain for this one's data sheet, whatever GPU there is (default sm_90 without one)",
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="the time in what climb --json printed (default: the history's newest)",
    )
    parser.add_argument(
        "--matrix",
        metavar="FILE",
        help="spmv: the matrix of a Matrix Market file, in the format predicted to be fastest",
    )
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="FILE",
        help="draw what the first block works on, as SVG; small tiles by --config",
    )
    parser.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="write it as a page with a drawing: the tile, the threads and what they load",
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="compare the counters with the prediction: CUDA's by Nsight Compute, the "
        "processor's by perf_event_open (without this too where they may be read and it is quick)",
    )


def command(arguments: argparse.Namespace) -> int:
    """Explain one strategy."""
    from rooftile.devices.select import parse_device
    from rooftile.errors import InputError
    from rooftile.ops import parse

    kind, _ = parse_device(arguments.device)
    output = Output(arguments)
    if arguments.matrix is not None:
        problem = _of_file(arguments, output)
    else:
        arguments.shape = _shape(arguments, kind)
        problem = parse(arguments.operation, arguments.shape, arguments.batch)
    if kind == "opencl" and arguments.profile:
        raise InputError("profile", kind, "device cuda or cpu: OpenCL has no counters")
    if arguments.matrix is not None and arguments.profile and kind == "cpu":
        raise InputError("profile", "given with --matrix", "a problem by its --shape on the cpu")
    for option in ("architecture", "config", "picture") if kind == "cpu" else ():
        if (value := getattr(arguments, option)) is not None:
            raise InputError(f"--{option}", f"{value} on the cpu", "--device cuda or opencl too")
    if arguments.picture is not None:
        check_writable("--picture", arguments.picture)
    if arguments.html is not None:
        check_writable("--html", arguments.html)
    rung, picked = _rung(arguments, problem)
    if kind == "cpu":
        return _processor(output, arguments, problem, rung, picked)
    return _gpu(output, arguments, problem, rung, picked)


def _shape(arguments: argparse.Namespace, kind: str) -> str:
    """The shape that was asked for; of several that stand for an operation, the first one that the
    named strategy takes."""
    from rooftile.lab.measure.forms import rungs_of

    forms = shapes_of(arguments, arguments.operation)
    if len(forms) == 1 or arguments.strategy is None:
        return forms[0]
    asked = arguments.batch, kind, arguments.strategy
    return next(iter(rungs_of(arguments.operation, forms, *asked)))


def _of_file(arguments: argparse.Namespace, output: Output) -> Problem:
    """The product of a file's matrix with a vector; prints what each format would move."""
    import rooftile
    from rooftile.errors import InputError

    if arguments.stored:
        raise InputError("matrix", f"{arguments.matrix} with --stored", "one of the two")
    if arguments.operation != "spmv" or arguments.shape:
        given = "--shape" if arguments.shape else arguments.operation
        raise InputError("matrix", f"{arguments.matrix} and {given}", "spmv, and no --shape")
    matrix = rooftile.sparse(arguments.matrix)
    arguments.shape = arguments.matrix
    told = matrix.explain(device=arguments.device)
    output.show(*told.splitlines(), "")
    fastest = matrix.estimates(device=arguments.device)[0].form
    return matrix.to(fastest).problem()


def _rung(arguments: argparse.Namespace, problem: Problem) -> tuple[Strategy, str]:
    """The strategy, and why it was picked where none was named."""
    from rooftile.devices.select import parse_device
    from rooftile.runtime.selection.choice import choose, explain_choice
    from rooftile.strategies import strategy

    kind, _ = parse_device(arguments.device)
    if arguments.strategy is not None:
        return strategy(problem.operation, arguments.strategy, kind), ""
    rung = choose(problem, device=arguments.device)
    considered = explain_choice(problem, device=arguments.device)
    return rung, next((c.reason for c in considered if c.taken), "")


def _processor(
    output: Output, arguments: argparse.Namespace, problem: Problem, rung: Strategy, picked: str
) -> int:
    from rooftile.lab.show.explain.processor import explain_cpu

    with output.working(f"explaining {rung.name}") as say:
        measured = _measured(arguments, problem, rung.name)
        shape = None if arguments.matrix is not None else arguments.shape
        found = explain_cpu(
            rung,
            problem,
            measured=measured,
            shape=shape,
            counted=arguments.profile,
            seed=arguments.seed,
            progress=say,
        )
    output.result({**found.to_json(), "picked": picked})
    heading = title(problem, arguments.shape, found.strategy, found.summary, picked)
    lines = [*heading, *cpu_lines(found), "", *(f"next: {line}" for line in found.advice())]
    output.show(*lines)
    if arguments.html is not None:
        from rooftile.lab.show.explain.cpu_drawing import cpu_picture

        _write_page(output, arguments, found.strategy, [cpu_picture(found)], lines)
    return 0


def _write_page(
    output: Output, arguments: argparse.Namespace, name: str, drawings: list[str], lines: list[str]
) -> None:
    from rooftile._files import write_atomically
    from rooftile.lab.show.explain.page import page

    made = page(f"{arguments.operation}: {name}", drawings, lines)
    write_atomically(arguments.html, made.encode())
    output.path(arguments.html)


def _gpu(
    output: Output, arguments: argparse.Namespace, problem: Problem, rung: Strategy, picked: str
) -> int:
    from rooftile._files import write_atomically
    from rooftile.lab.show.explain.advice import advice
    from rooftile.lab.show.explain.drawing import picture
    from rooftile.lab.show.explain.profile import compare
    from rooftile.strategies.contract.gpu import of_launches

    found, counted = _explained(output, arguments, problem, rung)
    if arguments.picture is not None:
        drawn = picture(of_launches(rung), problem, found.config)
        write_atomically(arguments.picture, drawn.encode())
    compared = compare(found, counted)
    said = advice(found)
    output.result(
        {
            **found.to_json(),
            "picked": picked,
            "advice": said,
            "counters": _counted_json(counted),
            "compared": [_compared_json(row) for row in compared],
        }
    )
    lines = title(problem, arguments.shape, found.strategy, found.summary, picked)
    lines += [*gpu_lines(found), ""]
    for kernel in found.kernels:
        lines += [*kernel_lines(kernel, found.target.multiprocessors), ""]
    lines += bound_lines(found)
    output.show(*lines)
    if counted:
        output.show("", comparison_table(compared), "", *stall_lines(counted), *why_lines(compared))
    rest = ["", f"not told: {found.missing}"] if found.missing else []
    rest += ["", *(f"next: {line}" for line in said)]
    output.show(*rest)
    if arguments.html is not None:
        drawings = drawings_of(of_launches(rung), found)
        _write_page(output, arguments, found.strategy, drawings, [*lines, *rest])
    if arguments.picture is not None:
        output.path(arguments.picture)
    return 0


def _explained(
    output: Output, arguments: argparse.Namespace, problem: Problem, rung: Strategy
) -> tuple[Explanation, list[Counters]]:
    """The explanation, and a GPU's counters where they are asked for."""
    from rooftile.lab.show.explain import explain
    from rooftile.lab.show.explain.target import find_target

    with output.working(f"explaining {rung.name}") as say:
        target = find_target(arguments.device, arguments.architecture)
        measured = _measured(arguments, problem, rung.name)
        found = explain(
            rung, problem, arguments.device, target, config=arguments.config, measured=measured
        )
        counted: list[Counters] = []
        if arguments.profile:
            say("reading the counters")
            counted = _counters(arguments, found)
    return found, counted


def drawings_of(rung: GpuStrategy, found: Explanation) -> list[str]:
    """The data of the first block, where the rung can draw it, and the launch."""
    from rooftile.lab.show.explain.drawing import drawing
    from rooftile.lab.show.explain.launch_drawing import launch_picture

    panels = rung.picture(found.problem, found.config)
    return [*([drawing(panels)] if panels else []), launch_picture(found)]


def _measured(arguments: argparse.Namespace, problem: Problem, name: str) -> Measured | None:
    from rooftile.lab.show.explain import latest, of_record

    if arguments.record is not None:
        return of_record(arguments.record, problem, name)
    return latest(problem, arguments.device, name)


def _counters(arguments: argparse.Namespace, found: Explanation) -> list[Counters]:
    from rooftile.lab.show.explain.profile import profile

    return profile(
        {
            "operation": arguments.operation,
            "shape": arguments.shape,
            "batch": found.problem.batch_size,
            "strategy": found.strategy,
            "device": arguments.device,
            "config": dict(found.config),
            "seed": arguments.seed,
        }
    )


def _config(text: str) -> dict[str, int]:
    try:
        return {name: int(value) for name, value in (item.split("=") for item in text.split(","))}
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=N,...") from None


def _counted_json(counted: list[Counters]) -> list[dict[str, Any]]:
    import dataclasses

    found: list[dict[str, Any]] = json.loads(json.dumps([dataclasses.asdict(c) for c in counted]))
    return found


def _compared_json(row: Comparison) -> dict[str, Any]:
    import dataclasses

    return {**dataclasses.asdict(row), "off": row.off, "why": row.why}
