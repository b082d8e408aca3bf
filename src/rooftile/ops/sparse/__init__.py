"""Products with sparse matrices, and the formats of these."""
