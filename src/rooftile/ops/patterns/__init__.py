"""Dense parallel patterns and filters, and what they share."""
