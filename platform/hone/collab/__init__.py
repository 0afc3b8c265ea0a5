"""Prompts edited together: shared documents, rooms, presence, history."""
