"""Other apps that take part in a batch of spans, in its transaction.

A span that carries a certain attribute concerns them; they write what they make of it before the
spans are acknowledged. A tap does only `INSERT … ON CONFLICT`, in sorted order of keys, with the
raw cursor: a deadlock is then seen as one, and the batch is tried again.
"""

from collections.abc import Callable, Sequence
from typing import Any

import psycopg

from hone.traces.core.echo import CALLER
from hone.traces.core.span import Span
from hone.traces.services.echoes import echoes_note

Items = Sequence[tuple[int, Span]]  # project id, span
Tap = Callable[[psycopg.Cursor[Any], Items], None]
span_taps: dict[str, Tap] = {CALLER: echoes_note}  # attribute to the tap


def taps_run(raw: psycopg.Connection[Any], items: Items) -> None:
    """Show each tap the spans that carry its attribute."""
    for attribute, tap in span_taps.items():
        concerned = [item for item in items if attribute in item[1].attributes]
        if concerned:
            with psycopg.Cursor(raw) as cursor:
                tap(cursor, concerned)
