"""Adjacent lines in vectors: a band of them goes down the axis together.

Of each line, the last rows' elements are combined in single precision, and the elements before them
in double: ``base`` of each line, rounded to ``before``, and ``own`` since then. A band is as wide
as lets all of these stay in the first-level cache.
"""

from __future__ import annotations

BAND = 512
"""Lines of a band."""
_ROWS = 64
"""Elements of a line that are combined in single precision."""

TEXT = f"""
def one(a, b):
    return {{one}}

def both(a, b):
    return {{both}}

def results_of(before, own, v):
    return {{word}}(before, {{own}})

def scalar_of(before, own, v):
    return one(before, {{own_scalar}})

def kernel(x, y, sizes, begin, end):
    count, inner, bands = sizes[0], sizes[1], sizes[2]
    base = np.empty({BAND}, {{wide}})
    before = np.empty({BAND}, np.float32)
    own = np.empty({BAND}, np.float32)
    for unit in range(begin, end):
        first = unit % bands * {BAND}
        width = min({BAND}, inner - first)
        whole = width // {{lanes}} * {{lanes}}
        for k in range(width):
            base[k] = {{base}}
            own[k] = {{identity}}
        for element in range(count):
            if element % {_ROWS} == 0:
                for k in range(width):
                    base[k] = both(base[k], {{wide}}(own[k]))
                    before[k] = base[k]
                    own[k] = {{identity}}
            at = (unit // bands * count + {{row}}) * inner + first
            for k in range(0, whole, {{lanes}}):
                o = load(own, k)
                v = {{word}}(o, load(x, at + k))
                {{store}}(y, at + k, results_of(load(before, k), o, v))
                store(own, k, v)
            for k in range(whole, width):
                one_own = own[k]
                one_v = one(one_own, x[at + k])
                y[at + k] = scalar_of(before[k], one_own, one_v)
                own[k] = one_v
"""
