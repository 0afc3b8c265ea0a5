"""Plain Python of datasets and runs."""
