"""Encoded parts meet in a batch and in the database: the same comes out as from plain spans."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, transaction

from hone.traces.core.part import Part
from hone.traces.services.exports import export_read
from hone.traces.services.ingest import parts_write
from hone.traces.services.intake import intake_for

Export = Callable[..., bytes]
COLUMNS = "encode(span_id, 'hex'), name, input, output, user_id, cost"
SUMMARY = "observation_count, name, input_preview, total_tokens, cost, user_id, models"

pytestmark = pytest.mark.django_db


def llm(tokens: int, **more: Any) -> dict[str, Any]:
    attributes = {"llm.model_name": "gpt-4o", "llm.token_count.prompt": tokens, **more}
    return {"openinference.span.kind": "LLM", **attributes}


def parts(body: bytes, *, is_native: bool) -> list[Part]:
    with pytest.MonkeyPatch.context() as patch:
        if not is_native:
            patch.setattr("hone.traces.services.exports.is_built", lambda: False)
        found = export_read(intake_for(7), body, is_json=False).parts
    assert all(isinstance(part.rows, list) != is_native for part in found)
    return found


def stored() -> tuple[list[Any], list[Any]]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {COLUMNS} FROM traces_observation ORDER BY span_id, end_time")
        observations = cursor.fetchall()
        cursor.execute(f"SELECT {SUMMARY} FROM traces_trace ORDER BY trace_id")
        return observations, cursor.fetchall()


def outcome(batches: list[list[Part]]) -> tuple[list[Any], list[Any]]:
    with transaction.atomic():
        for batch in batches:
            parts_write(batch)
        found = stored()
        transaction.set_rollback(True)
    return found


def bodies(export: Export, base_ns: int) -> list[bytes]:
    """One span three times, ever longer; another one in between; a third one alone."""
    again = [
        export(
            {"span_id": "01" * 8, "end_ns": base_ns + length, "attributes": llm(100 * length)},
            {"span_id": f"0{length + 1}" * 8, "attributes": {"input.value": "in"}},
        )
        for length in (1, 2, 3)
    ]
    return [*again, export({"span_id": "09" * 8, "attributes": llm(1, **{"user.id": "u"})})]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
@pytest.mark.parametrize("cut", [1, 2, 4])
def test_repeats_settle_the_same_way(
    export: Export, base_ns: int, order: tuple[int, ...], cut: int
) -> None:
    sent = bodies(export, base_ns)
    wanted = outcome([[p for body in sent for p in parts(body, is_native=False)]])
    assert wanted[1][0][0] == 5
    assert [row[5] for row in wanted[0] if row[0] == "01" * 8] == [Decimal("0.00075")]
    in_order = [parts(sent[number], is_native=True) for number in order]
    batches = [
        [part for found in in_order[at : at + cut] for part in found]
        for at in range(0, len(order), cut)
    ]
    assert outcome(batches) == wanted


def test_the_same_parts_twice_change_nothing(export: Export, base_ns: int) -> None:
    sent = [p for body in bodies(export, base_ns) for p in parts(body, is_native=True)]
    assert outcome([sent, sent]) == outcome([sent])


def test_a_trace_over_many_years_makes_only_its_own_partitions(export: Export) -> None:
    """Two spans of one trace lie years apart: the days between them are nobody's."""
    day = 86_400 * 10**9
    now = 1_796_000_000 * 10**9
    spans = [{"span_id": f"0{n}" * 8, "start_ns": now - n * 300 * day} for n in (1, 2, 3)]
    for span in spans:
        span["end_ns"] = span["start_ns"]
    [part] = parts(export(*spans), is_native=True)
    assert part.days() == {(now - n * 300 * day) // day for n in (1, 2, 3)}
