"""Time every dense pattern through its public call, beside its peers, and write what came of it.

    python benchmarks/patterns.py [--only OPERATION|KEY ...] [--write]
    python benchmarks/patterns.py --device cuda [--only ...] [--write]

The records are ``benchmarks/results/patterns-cpu.json`` and ``patterns-<gpu>.json``, from which
`benchmarks/patterns_page.py` makes the tables of the operations' pages.  A CPU takes at most six
minutes, a GPU at most four; with ``--only`` the other rows stay as they were.
"""

from __future__ import annotations

import argparse

import patterns_page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--only", nargs="*", default=[], help="operations, or keys of rows")
    parser.add_argument("--write", action="store_true", help="write the record and the pages")
    options = parser.parse_args()
    if options.device == "cpu":
        import patterns_cpu as runner
    else:
        import patterns_gpu as runner  # type: ignore[no-redef]
    runner.run(options.only, options.write)
    if options.write:
        patterns_page.write()


if __name__ == "__main__":
    main()
