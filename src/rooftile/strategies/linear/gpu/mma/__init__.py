"""The matrix product on tensor cores by `mma.sync`, in four precisions."""
