"""Architectures: one file each, found by name in the registry."""
