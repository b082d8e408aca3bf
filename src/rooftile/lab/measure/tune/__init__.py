"""The search for a strategy's fastest config."""
