"""A kernel of one's own before the judge: is it right, honest, and how fast?

The same from a shell: ``rooftile audit examples/judged_kernel.py:softmax --op softmax``.
"""

import numpy as np


def softmax(x: np.ndarray) -> np.ndarray:
    """exp(x) / sum(exp(x)) of each row; the maximum is taken off, lest exp overflows."""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def careless(x: np.ndarray) -> np.ndarray:
    """The same without that: right on small numbers only."""
    powers = np.exp(x)
    return powers / powers.sum(axis=-1, keepdims=True)


if __name__ == "__main__":
    from rooftile.lab.audit import Foreign, audit
    from rooftile.ops import parse

    for name in ("softmax", "careless"):
        found = audit(Foreign.parse(f"{__file__}:{name}", "cpu"), parse("softmax", "classes-10"))
        print(f"{name}: {'passed' if found.passed else 'failed'}")
        for check in found.checks:
            if check.status == "failed":
                print(f"  {check.name}: {check.evidence}")
