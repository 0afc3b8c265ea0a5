"""What is said about traces: scores, comments, media.

The traces themselves have no Django models: their tables stand in migrations/0001_initial.py. They
are partitioned, written in binary (services/batch) and read by hand-made queries (selectors).
Everything here names traces, observations and sessions softly, by text: it may arrive first.
"""

from hone.traces.models.comments import Comment
from hone.traces.models.erasures import Erasure, Retention
from hone.traces.models.intake import MaskRule, ModelPrice
from hone.traces.models.media import Media, MediaChunk, MediaUse
from hone.traces.models.scores import Score, ScoreConfig
from hone.traces.models.views import SavedView

__all__ = [
    "Comment",
    "Erasure",
    "MaskRule",
    "Media",
    "MediaChunk",
    "MediaUse",
    "ModelPrice",
    "Retention",
    "SavedView",
    "Score",
    "ScoreConfig",
]
