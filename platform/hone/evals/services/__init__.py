"""Everything that writes datasets and runs."""
