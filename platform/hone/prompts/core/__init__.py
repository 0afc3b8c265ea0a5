"""Plain Python: no Django, time and randomness come in as arguments."""
