"""The strategies of `matvec`."""
