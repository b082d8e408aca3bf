"""The ladder of `loss_gradient` on GPUs: CUDA C texts that OpenCL compiles too."""
