import json
import logging

import pytest
import structlog
from django.conf import settings

from hone.common import crypto, logs


def test_a_sealed_text_opens_for_its_purpose_only() -> None:
    sealed = crypto.encrypt("connection", "sk-secret")
    assert "sk-secret" not in sealed
    assert crypto.decrypt("connection", sealed) == "sk-secret"
    with pytest.raises(crypto.DecryptError):
        crypto.decrypt("backup", sealed)
    assert crypto.encrypt("connection", "sk-secret") != sealed


@pytest.mark.parametrize(
    "damage", [lambda s: s[:-4] + "AAAA", lambda s: "v9" + s[2:], lambda s: ""]
)
def test_a_damaged_text_does_not_open(damage) -> None:
    with pytest.raises(crypto.DecryptError):
        crypto.decrypt("x", damage(crypto.encrypt("x", "text")))


def test_another_secret_key_opens_nothing(settings) -> None:
    sealed, hashed = crypto.encrypt("x", "text"), crypto.keyed_hash("x", "text")
    settings.SECRET_KEY = "another-0123456789-0123456789-0123456789"
    assert crypto.keyed_hash("x", "text") != hashed
    with pytest.raises(crypto.DecryptError):
        crypto.decrypt("x", sealed)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key sk-hone-abcdefghijkl used", "key sk-ho[hidden] used"),
        ("Authorization: Bearer abcdefghijk", "Authorization: Bearer [hidden]"),
        ("postgresql://u:topsecret@h/db", "postgresql://u:[hidden]@h/db"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_secrets_in_texts_are_blanked(text: str, shown: str) -> None:
    assert logs.redact_text(text) == shown


def test_fields_are_blanked_by_name_at_any_depth() -> None:
    value = {"a": [{"api_key": "x", "Authorization": "y", "tokens": 3}], "password": ""}
    assert logs.redact(value) == {
        "a": [{"api_key": "[hidden]", "Authorization": "[hidden]", "tokens": 3}],
        "password": "",
    }


def test_a_log_line_is_json_and_holds_no_secret(capsys) -> None:
    secret = "sk-hone-0123456789abcdef"
    try:
        logs.configure({"level": "INFO", "json": True})
        structlog.get_logger("test").info("used", secret_key=secret, header=f"Bearer {secret}")
        try:
            raise ValueError(f"bad key {secret}")
        except ValueError:
            logging.getLogger("other").exception("failed for %s", secret)
    finally:
        logs.configure(settings.LOGGING)
    lines = capsys.readouterr().err.splitlines()
    assert secret not in "".join(lines)
    assert [json.loads(line)["level"] for line in lines] == ["info", "error"]
    assert "ValueError" in json.loads(lines[1])["exception"]
