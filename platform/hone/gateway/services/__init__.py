"""Writes: connections, completions, runs, and the local engines' own rows."""
