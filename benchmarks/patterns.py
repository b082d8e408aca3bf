"""Time every pattern through its public call, beside its peers, and write what came of it.

    python benchmarks/patterns.py [--only OPERATION|KEY ...] [--write]
    python benchmarks/patterns.py --device cuda [--only ...] [--limit SECONDS] [--write]
    python benchmarks/patterns.py --device cuda --smoke

The records are ``benchmarks/results/patterns-cpu.json`` and ``patterns-<gpu>.json``, from which
`benchmarks/patterns_page.py` makes the tables of the operations' pages.  A CPU takes at most six
minutes, a GPU at most four; with ``--only`` the other rows stay as they were.  ``--smoke`` tries
the GPU's rows on the CPU, with small problems, and writes nothing.
"""

from __future__ import annotations

import argparse

import patterns_page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--only",
        nargs="*",
        default=[],
        help="operations, keys of rows, chooser, solver, conversions",
    )
    parser.add_argument("--limit", type=float, help="seconds after which no row begins")
    parser.add_argument("--smoke", action="store_true", help="small problems, on the CPU")
    parser.add_argument("--write", action="store_true", help="write the record and the pages")
    options = parser.parse_args()
    if options.device == "cpu":
        import patterns_cpu

        patterns_cpu.run(options.only, options.write)
    else:
        import patterns_gpu

        limit = patterns_gpu.LIMIT_S if options.limit is None else options.limit
        patterns_gpu.run(options.only, options.write, limit, options.smoke)
    if options.write:
        patterns_page.write()


if __name__ == "__main__":
    main()
