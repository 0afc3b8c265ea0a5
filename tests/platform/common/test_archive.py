"""Backup and restore, into a second database and through the commands that people use."""

import base64
import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import orjson
import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from hone.accounts.models import Project, User
from hone.common import events
from hone.common.archive import backup, restore, secret
from hone.common.errors import ConflictError, InvalidError
from hone.evals.services.datasets import dataset_create
from hone.evals.services.items import item_upsert
from hone.evals.services.runs import run_item_create
from hone.prompts.services import Author, prompt_create
from hone.traces.core.scores import ScoreWrite
from hone.traces.services.media import Place, media_announce, media_store
from hone.traces.services.scores import score_upsert

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).parents[3]


class Elsewhere:
    """An empty database beside the test's, and commands that work on it."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        self.secret_key = settings.SECRET_KEY
        self.extra: dict[str, str] = {}

    def django(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "django", *arguments],
            capture_output=True,
            text=True,
            timeout=100,
            env={
                **os.environ,
                "PYTHONPATH": f"{ROOT / 'platform'}:{ROOT / 'inference'}",
                "DJANGO_SETTINGS_MODULE": "hone.config.settings.prod",
                "DATABASE_URL": self.url,
                "REDIS_URL": settings.REDIS_URL,
                "HONE_SERVER_SECRET": self.secret_key,
                "HONE_DATA_DIR": str(self.folder),
                **self.extra,
            },
        )

    def rows(self, sql: str) -> list[tuple]:
        with psycopg.connect(self.url) as connection:
            return connection.execute(sql).fetchall()


@pytest.fixture
def elsewhere(transactional_db: None, tmp_path: Path) -> Iterator[Elsewhere]:
    name = f"{connection.settings_dict['NAME']}_elsewhere"
    url = urlsplit(settings.DATABASE_URL)
    with psycopg.connect(settings.DATABASE_URL, autocommit=True) as admin:
        admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        admin.execute(f'CREATE DATABASE "{name}"')
        yield Elsewhere(urlunsplit(url._replace(path=f"/{name}")), tmp_path)
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


TEXT = "tabs\tlines\nback\\slash \\N \\. 'quotes' ünïcödé 🙂 {{x}}"


FILE = bytes(range(256)) * 2048  # two pieces


def said_and_kept(project: Project) -> None:
    """A score, a dataset with an item and a run, a file."""
    score_upsert(project_id=project.pk, write=ScoreWrite(name="q", value=0.1, trace_id="t"))
    dataset = dataset_create(project=project, name="a/b")
    item_upsert(dataset=dataset, key="i", input={"z": TEXT, "a": [1.5, None]})
    run_item_create(project=project, run_name="r", item_key="i", trace_id="t")
    media = media_announce(
        project_id=project.pk,
        content_type="image/png",
        num_bytes=len(FILE),
        sha256=base64.b64encode(hashlib.sha256(FILE).digest()).decode(),
        place=Place(field="input", trace_id="t"),
    )
    assert media_store(media_id=media.pk, content=BytesIO(FILE))


@pytest.fixture
def content(project: Project, alice: User, api_key) -> None:
    """Something in every corner: awkward text, partitions, sequences, events."""
    for number in range(3):
        prompt_create(
            project=project,
            author=Author("Alice", alice),
            name=f"p{number}",
            type="text",
            prompt=TEXT,
            labels=["production"],
        )
    said_and_kept(project)
    events.publish(project.pk, "k", {"text": TEXT}, durable=True)
    with connection.cursor() as cursor:
        # Rows that refer to others of a table whose name comes later, by a key that does not wait.
        cursor.execute(
            "WITH segment AS (INSERT INTO traces_search_segment (project_id, from_seq, to_seq,"
            " level, num_docs, first_us, latest_us, ordered) VALUES (%s, 1, 2, 0, 1, 1, 1, true)"
            " RETURNING id) INSERT INTO traces_search_docs SELECT id, 0, 'x' FROM segment",
            [project.pk],
        )
        cursor.execute("CREATE TABLE test_parts (at timestamptz, t text) PARTITION BY RANGE (at)")
        for year in (2025, 2026):
            cursor.execute(
                f"CREATE TABLE test_parts_{year} PARTITION OF test_parts"
                f" FOR VALUES FROM ('{year}-01-01 00:00+00') TO ('{year + 1}-01-01 00:00+00')"
            )


@pytest.fixture(autouse=True)
def no_test_parts() -> Iterator[None]:
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS test_parts")


@pytest.fixture
def archive(content: None, tmp_path: Path) -> Path:
    """A backup of the content, without the table that no migration makes."""
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE test_parts")
    path = tmp_path / "hone.zip"
    backup(path)
    return path


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.endswith(".copy")}


def test_what_is_restored_is_what_was_there(archive: Path, elsewhere, api_key) -> None:
    done = elsewhere.django("restore", str(archive))
    assert done.returncode == 0, done.stderr
    assert elsewhere.rows("SELECT name FROM prompts_prompt ORDER BY name") == [
        ("p0",),
        ("p1",),
        ("p2",),
    ]
    assert elsewhere.rows("SELECT input FROM evals_datasetitem") == [
        (orjson.dumps({"z": TEXT, "a": [1.5, None]}).decode(),)
    ]
    assert elsewhere.rows("SELECT number FROM traces_score") == [(0.1,)]
    pieces = elsewhere.rows("SELECT data FROM traces_mediachunk ORDER BY position")
    assert b"".join(piece for (piece,) in pieces) == FILE
    again = archive.with_name("again.zip")
    assert elsewhere.django("backup", str(again)).returncode == 0
    assert members(again) == members(archive)
    assert "tables/prompts_promptversion.copy" in members(archive)
    # What tells caches of changes is counted anew.
    [change] = elsewhere.rows("SELECT count FROM prompts_change")
    marks = "SELECT prompts_mark(name) FROM prompts_prompt ORDER BY 1"
    named = elsewhere.rows("SELECT mark FROM prompts_changedname ORDER BY mark")
    assert change[0] > 0
    assert named == elsewhere.rows(marks)
    # Built plainly there, in the transaction of the restore, and whole.
    assert elsewhere.rows(
        "SELECT indisvalid FROM pg_index WHERE indexrelid = 'traces_observation_prompt'::regclass"
    ) == [(True,)]
    # New rows get new numbers, and nothing made by the migrations is there twice.
    (count,) = elsewhere.rows("SELECT count(*) FROM django_content_type")
    assert elsewhere.django("migrate").returncode == 0
    assert elsewhere.rows("SELECT count(*) FROM django_content_type") == [count]
    assert elsewhere.rows(
        "INSERT INTO accounts_organization (name, slug, created_at) VALUES ('x', 'x', now())"
        " RETURNING id > (SELECT max(id) FROM accounts_organization)"
    ) == [(True,)]


def test_the_file_is_for_its_owner_only_and_whole(archive: Path, tmp_path: Path) -> None:
    assert archive.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
    with pytest.raises(ConflictError, match="exists"):
        backup(archive)
    backup(archive, force=True)


def test_partitions_come_along(content: None, tmp_path: Path) -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO test_parts VALUES ('2025-05-05', 'a'), ('2026-05-05', 'b')")
    written = backup(tmp_path / "hone.zip")
    mine = [p for p in written.partitions if p.parent == "test_parts"]
    assert [(p.name, p.bound) for p in mine] == [
        (
            f"test_parts_{year}",
            f"FOR VALUES FROM ('{year}-01-01 00:00:00+00') TO ('{year + 1}-01-01 00:00:00+00')",
        )
        for year in (2025, 2026)
    ]
    assert [(t.name, t.num_rows) for t in written.tables if t.name.startswith("test_parts")] == [
        ("test_parts", 2)
    ]


def test_a_database_in_use_is_refused_and_replaced_only_when_told(archive, elsewhere) -> None:
    assert elsewhere.django("bootstrap").returncode == 0
    refused = elsewhere.django("restore", str(archive))
    assert refused.returncode == 1
    assert "--replace" in refused.stderr
    assert elsewhere.rows("SELECT email FROM accounts_user") == [("demo@hone.local",)]
    assert elsewhere.django("restore", str(archive), "--replace").returncode == 0
    assert set(elsewhere.rows("SELECT email FROM accounts_user")) == {
        ("alice@example.com",),
        ("bob@example.com",),
    }


def tampered(archive: Path, **changes: bytes | None) -> Path:
    path = archive.with_name("tampered.zip")
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            key = Path(name).stem
            data = changes.get(key, old.read(name))
            if data is not None:
                new.writestr(name, data)
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"accounts_user": None}, "accounts_user is missing"),
        ({"accounts_user": b"not\ta\trow\n"}, "accounts_user does not take its rows"),
        ({"prompts_label": b""}, "prompts_label: got 0 rows"),
        ({"manifest": None}, "no manifest"),
        ({"manifest": b'{"format": 9}'}, "format 9"),
        (
            {"manifest": b'{"format": 1, "tables": [], "partitions": [], "sequences": []}'},
            "manifest",
        ),
    ],
)
def test_a_bad_archive_changes_nothing(archive: Path, changes, message) -> None:
    before = User.objects.count()
    with pytest.raises(InvalidError, match=message):
        restore(tampered(archive, **changes), replace=True)
    assert User.objects.count() == before == 2


def test_a_cut_archive_changes_nothing(archive: Path) -> None:
    cut = archive.with_name("cut.zip")
    cut.write_bytes(archive.read_bytes()[:-200])
    with pytest.raises(InvalidError, match="no whole archive"):
        restore(cut, replace=True)
    assert User.objects.count() == 2


def test_an_archive_of_a_newer_hone_is_refused(archive: Path) -> None:
    with zipfile.ZipFile(archive) as old:
        text = old.read("manifest.json").replace(b'"0001_initial"', b'"9999_future"')
    with pytest.raises(InvalidError, match="newer Hone"):
        restore(tampered(archive, manifest=text), replace=True)
    assert User.objects.count() == 2


def test_the_secret_key_comes_along_sealed(content, elsewhere, api_key, tmp_path: Path) -> None:
    path = tmp_path / "sealed.zip"
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE test_parts")
    backup(path, key=secret.SEALED, passphrase="a long passphrase")
    assert settings.SECRET_KEY.encode() not in path.read_bytes()
    key_file = elsewhere.folder / "secret.key"
    elsewhere.secret_key = "another-installation-0123456789-0123456789"
    key_file.write_text(elsewhere.secret_key)
    elsewhere.extra["HONE_BACKUP_PASSPHRASE"] = "wrong"
    wrong = elsewhere.django("restore", str(path))
    assert "HONE_BACKUP_PASSPHRASE" in wrong.stderr
    elsewhere.extra["HONE_BACKUP_PASSPHRASE"] = "a long passphrase"
    done = elsewhere.django("restore", str(path))
    assert "secret key of the backup" in done.stdout
    assert key_file.read_text() == settings.SECRET_KEY
    assert key_file.stat().st_mode & 0o777 == 0o600
    assert key_file.with_name("secret.key.old").read_text() == elsewhere.secret_key


def test_without_the_secret_key_the_restorer_is_warned(archive: Path, elsewhere) -> None:
    with zipfile.ZipFile(archive) as whole:
        assert "secret.key" not in whole.namelist()
    elsewhere.secret_key = "another-installation-0123456789-0123456789"
    done = elsewhere.django("restore", str(archive))
    assert done.returncode == 0
    assert "another secret key" in done.stdout


def test_the_command_says_where_the_secret_key_is(content, tmp_path: Path, capsys) -> None:
    call_command("backup", tmp_path / "a.zip")
    assert "secret key is not in it" in capsys.readouterr().out
    call_command("backup", tmp_path / "b.zip", "--with-secret-key")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert archive.read("secret.key").decode() == settings.SECRET_KEY
    with pytest.raises(CommandError, match="exists"):
        call_command("backup", tmp_path / "b.zip")
    with pytest.raises(CommandError, match="could not be written"):
        call_command("backup", tmp_path / "no" / "folder.zip")


def test_a_full_disk_leaves_no_half_of_a_file(content: None, tmp_path: Path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(CommandError, match="No space left"):
        call_command("backup", tmp_path / "hone.zip")
    assert list(tmp_path.iterdir()) == []


def test_rows_written_meanwhile_are_in_all_or_none_of_the_tables(
    project: Project, tmp_path: Path
) -> None:
    """A backup reads one moment: what commits while it runs is not in it."""
    path = tmp_path / "hone.zip"
    real = zipfile.ZipFile.open

    def open_and_write(self: zipfile.ZipFile, name: str, *args: object, **kwargs: object):
        if name == "tables/accounts_apikey.copy":
            with psycopg.connect(url_of_test_database()) as other:
                other.execute("UPDATE accounts_project SET name = 'changed'")
        return real(self, name, *args, **kwargs)

    zipfile.ZipFile.open = open_and_write  # type: ignore[method-assign]
    try:
        backup(path)
    finally:
        zipfile.ZipFile.open = real  # type: ignore[method-assign]
    assert b"changed" not in members(path)["tables/accounts_project.copy"]
    project.refresh_from_db()
    assert project.name == "changed"


def url_of_test_database() -> str:
    url = urlsplit(settings.DATABASE_URL)
    return urlunsplit(url._replace(path=f"/{connection.settings_dict['NAME']}"))
