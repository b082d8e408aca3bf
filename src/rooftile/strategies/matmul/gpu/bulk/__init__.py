"""The matrix product in 16 bits on Hopper's warpgroups, both matrices from shared memory."""
