"""Hone: prompts, traces and scores for language-model work."""
