"""Datasets and the runs made over them."""
