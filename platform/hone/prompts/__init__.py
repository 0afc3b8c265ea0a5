"""Prompts, their versions and labels."""
