import pytest
from django.core.management import call_command

from hone.config import environment


@pytest.mark.parametrize(
    ("url", "want"),
    [
        (
            "postgresql://u:p%40ss@db.example:6432/hone?sslmode=require",
            ("hone", "u", "p@ss", "db.example", "6432", {"sslmode": "require"}),
        ),
        ("postgresql://postgres@/hone?host=/a/b", ("hone", "postgres", "", "/a/b", "", {})),
        ("postgres://localhost/x", ("x", "", "", "localhost", "", {})),
        ("postgresql://u@%2Fa%2Fb/x", ("x", "u", "", "/a/b", "", {})),
    ],
)
def test_a_database_url_is_read(url: str, want: tuple) -> None:
    got = environment.database(url)
    keys = ("NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS")
    assert tuple(got[key] for key in keys) == want


@pytest.mark.parametrize("url", ["mysql://h/x", "postgresql://h/", "hone.sqlite3"])
def test_a_database_that_is_no_postgresql_is_refused(url: str) -> None:
    with pytest.raises(environment.SettingError, match="DATABASE_URL"):
        environment.database(url)


@pytest.mark.parametrize(
    ("url", "want"),
    [
        ("unix:///a/valkey.sock", "redis+socket:///a/valkey.sock?virtual_host=0"),
        ("unix:///a/valkey.sock?db=3", "redis+socket:///a/valkey.sock?virtual_host=3"),
        ("redis://h:6379/2", "redis://h:6379/2"),
    ],
)
def test_celery_gets_its_own_spelling(url: str, want: str) -> None:
    assert environment.broker(url) == want


def test_flags_and_lists(monkeypatch) -> None:
    monkeypatch.setenv("HONE_A", "Yes")
    monkeypatch.setenv("HONE_B", " a, ,b ")
    assert environment.flag("HONE_A")
    assert not environment.flag("HONE_NONE")
    assert environment.names("HONE_B") == ["a", "b"]
    monkeypatch.setenv("HONE_A", "perhaps")
    with pytest.raises(environment.SettingError, match="HONE_A"):
        environment.flag("HONE_A")


def test_djangos_own_checks_find_nothing() -> None:
    call_command("check", fail_level="WARNING")


def test_no_model_lacks_a_migration(db: None) -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
