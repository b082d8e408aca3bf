"""What a call costs: ours, prepared or not, beside PyTorch's, on the CPU or on an NVIDIA GPU.

    python benchmarks/calls.py [--only LABEL ... | --first] [--write]
    python benchmarks/calls.py --device cuda [--quick] [--only LABEL ...] [--write]

The records are ``benchmarks/results/calls-cpu-<cpu>.json`` and ``calls-<gpu>.json``, of which
`benchmarks/calls_page.py` makes the pages.  On a GPU all rows are measured twice, in at most four
minutes, with ``--quick`` once, in at most one; each row is printed and written as it comes.
"""

from __future__ import annotations

import argparse

import calls_cpu
import calls_page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--only", nargs="*", default=[], help="labels, such as 'mnist8 B=1'")
    parser.add_argument("--quick", action="store_true", help="on a GPU: fewer peers and rounds")
    parser.add_argument("--first", action="store_true", help="on the CPU: first calls alone")
    parser.add_argument("--write", action="store_true", help="write the record and the page")
    options = parser.parse_args()
    if options.device == "cpu":
        if options.first:
            results = calls_cpu.run_first(options.write)
        else:
            results = calls_cpu.run(options.only, options.write)
        if not options.write:
            print(calls_page.whole({calls_cpu.RESULTS.name: results}))
    else:
        import calls_gpu

        calls_gpu.run(options.only, options.quick, options.write)
    if options.write:
        calls_page.write()


if __name__ == "__main__":
    main()
