"""The ladder of `pool2d_winners` on GPUs: CUDA C texts that OpenCL compiles too."""
