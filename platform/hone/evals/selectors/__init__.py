"""Everything that reads datasets and runs."""
