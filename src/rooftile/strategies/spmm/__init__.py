"""How `spmm` is computed."""
