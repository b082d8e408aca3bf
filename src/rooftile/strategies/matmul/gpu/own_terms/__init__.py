"""The matrix product of few tiles on tensor cores: warps have terms of their own."""
