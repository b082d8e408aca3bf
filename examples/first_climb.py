"""A first climb: every way of computing a max-pool, verified, timed, and under the roof.

The same from a shell, with all that is known of each: ``rooftile climb pool2d --batch 10``.
"""

from rooftile.lab.measure.climb import climb

ladder = climb("pool2d", "lenet-pool1", batch=10)
print(ladder.problem)
print(f"at least {ladder.floor_ms:.3f} ms, by the rates measured on this machine")
for row in ladder.rows:
    if row.time_ms is None:
        print(f"{row.strategy:12} {row.status}: {row.reason}")
    else:
        share = f"{row.roof_fraction:4.0%} of the roof" if row.roof_fraction else ""
        print(f"{row.strategy:12} {row.time_ms.median:8.3f} ms  {share}")
