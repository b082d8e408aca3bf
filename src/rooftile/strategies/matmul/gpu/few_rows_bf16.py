"""`few_rows_bf16`: all rows at once, both matrices in bfloat16, in memory or rounded."""

from __future__ import annotations

from rooftile.ops.matmul import Matmul
from rooftile.strategies.common.cores import CORES
from rooftile.strategies.gpu import Config
from rooftile.strategies.matmul.gpu.few_rows import FewRows


class FewRowsBf16(FewRows):
    """As `few_rows`, on numbers of bfloat16."""

    name = "few_rows_bf16"
    source = "few_rows"
    precision = "bf16"
    narrow = "bf16"
    summary = "as few_rows, both matrices in bfloat16"

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        """And which numbers."""
        return {**super().macros(problem, config), "CORES": CORES[self.precision].word}


STRATEGY = FewRowsBf16()
