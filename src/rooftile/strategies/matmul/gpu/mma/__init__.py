"""The matrix product on tensor cores by `mma.sync`, of matrices as they lie."""
