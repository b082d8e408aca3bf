"""An operation that is made up: which bytes of a row agree with a number."""
