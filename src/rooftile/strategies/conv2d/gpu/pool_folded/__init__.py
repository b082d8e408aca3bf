"""The pooling window folded into the columns of a matrix product, on tensor cores."""
