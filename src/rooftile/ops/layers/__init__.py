"""Operations that are layers of a network, and what they share."""
