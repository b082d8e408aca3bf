"""The program whose threads are counted: one strategy of the CPU, called for a while.

python -m rooftile.lab.show.explain.perf_child '["softmax", "classes=10", 1000, "vectors", 0]'
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from rooftile.devices import cpu
from rooftile.lab.show.explain.perf import counting
from rooftile.ops import parse
from rooftile.strategies import strategy

_COUNTED_S, _MOST_CALLS = 0.05, 10_000
"""Calls take so long together, if a single one takes less."""


def main(text: str) -> None:
    """Print the counts of what the list asks for: operation, shape, batch, strategy, seed."""
    operation, shape, batch, name, seed = json.loads(text)
    problem, device = parse(operation, shape, batch), cpu.open_device()
    values, count = problem.random(seed), len(problem.input_arrays)
    bound: Any = strategy(operation, name, "cpu").bind(problem, values[count:], device)
    memory = [*values[:count], *(device.empty(a.shape, a.numpy) for a in problem.output_arrays)]

    def call() -> None:
        bound.launch(memory)

    print(json.dumps(counts(call)))


def counts(call: Callable[[], None]) -> dict[str, Any]:
    """The counts of a warm call, as `PerfCounts` has them."""
    call()
    begun = time.perf_counter()
    call()
    took = max(time.perf_counter() - begun, 1e-6)
    calls = max(1, min(_MOST_CALLS, int(_COUNTED_S / took)))
    threads = [int(thread) for thread in os.listdir("/proc/self/task")]
    before = resource.getrusage(resource.RUSAGE_SELF)
    with counting(threads) as found:
        for _ in range(calls):
            call()
    after = resource.getrusage(resource.RUSAGE_SELF)
    faults = after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt
    switches = after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw
    return {
        "values": {name: value / calls for name, value in found.items()},
        "page_faults": faults / calls,
        "switches": switches / calls,
        "calls": calls,
    }


if __name__ == "__main__":
    main(sys.argv[1])
