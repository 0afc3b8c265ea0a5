"""Quantization: weights to groups of small codes."""
