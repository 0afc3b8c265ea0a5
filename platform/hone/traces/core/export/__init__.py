"""Rows as CSV, JSON lines or Parquet, a portion at a time."""

from hone.traces.core.export.formats import FORMATS, Exporter

__all__ = ["FORMATS", "Exporter"]
