"""The checks of an audit, a module each."""
