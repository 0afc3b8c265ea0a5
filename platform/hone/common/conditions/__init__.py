"""The one filter grammar: of our lists, exports and saved views, and of the public API.

A JSON array of conditions that must all hold, as Langfuse's clients write them:
`[{"type": "string", "column": "name", "operator": "contains", "value": "x", "key": ...?}, ...]`
"""

from hone.common.conditions.grammar import Condition, conditions_of
from hone.common.conditions.sql import Clause, Column, condition_sql, conditions_sql, escaped

__all__ = [
    "Clause",
    "Column",
    "Condition",
    "condition_sql",
    "conditions_of",
    "conditions_sql",
    "escaped",
]
