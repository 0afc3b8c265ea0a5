"""Where the time goes, and how fast the machine could go at best."""

from hone_engine.profiler.sections import Section, Sections

__all__ = ["Section", "Sections"]
