"""The front end's types are made of the schema that the server has now."""

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

SCHEMA = Path(__file__).parents[3] / "frontend/openapi.json"


def test_the_types_follow_the_schema(hone_server: Any) -> None:
    status, served = hone_server.get("/api/schema?format=json")
    assert status == 200
    kept = json.loads(SCHEMA.read_text())
    assert kept["components"] == served["components"], "run: npm run schema && npm run types"
    assert kept["paths"] == served["paths"], "run: npm run schema && npm run types"
