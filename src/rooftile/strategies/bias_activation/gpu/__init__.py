"""The ladder of `bias_activation` on GPUs: CUDA C texts that OpenCL compiles too."""
