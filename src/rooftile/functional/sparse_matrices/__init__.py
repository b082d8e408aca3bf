"""The sparse matrix: its formats and conversions, its products and solvers."""
