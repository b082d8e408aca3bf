"""The ladder of `activation_gradient` on GPUs: CUDA C texts that OpenCL compiles too."""
