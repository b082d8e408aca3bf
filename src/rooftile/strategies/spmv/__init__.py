"""How `spmv` is computed."""
