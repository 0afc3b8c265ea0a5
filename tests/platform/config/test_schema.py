import json

from django.core.management import call_command


def test_the_schema_is_complete_and_without_warnings(capsys) -> None:
    call_command("spectacular", "--validate", "--fail-on-warn", "--format", "openapi-json")
    schema = json.loads(capsys.readouterr().out)
    operations = [op for path in schema["paths"].values() for op in path.values()]
    assert len({op["operationId"] for op in operations}) == len(operations) > 20
    assert all("default" in op["responses"] for op in operations)
    assert schema["components"]["schemas"]["KeyBodyPage"]["properties"].keys() == {
        "data",
        "next_cursor",
    }


def test_the_schema_is_served_to_who_is_signed_in(as_bob) -> None:
    answer = as_bob.get("/api/schema")
    assert answer.status_code == 200
    assert "/api/projects/{project}/prompts" in answer.json()["paths"]
