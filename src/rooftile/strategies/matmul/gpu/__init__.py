"""The ladder of `matmul` on GPUs: textbook kernels in both languages, tensor cores on CUDA."""
