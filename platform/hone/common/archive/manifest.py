from dataclasses import asdict, dataclass, field
from typing import Any
from zipfile import ZipFile

import orjson

from hone.common.errors import InvalidError

FORMAT = 1
NAME = "manifest.json"


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    columns: list[str]
    num_rows: int


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of a partitioned table; `bound` is PostgreSQL's own text, `FOR VALUES …`."""

    name: str
    parent: str
    bound: str


@dataclass(frozen=True, slots=True)
class Sequence:
    name: str
    latest_value: int
    is_called: bool


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an archive says of itself."""

    created_at: str
    server_version: str
    key_fingerprint: str  # of the HONE_SERVER_SECRET that hashes keys and seals secrets
    secret_key: str  # none | plain | sealed
    migrations: list[list[str]]  # [app, name], as applied
    tables: list[Table]
    partitions: list[Partition] = field(default_factory=list)
    sequences: list[Sequence] = field(default_factory=list)
    format: int = FORMAT


def write(archive: ZipFile, manifest: Manifest) -> None:
    archive.writestr(NAME, orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2))


def read(archive: ZipFile) -> Manifest:
    """The archive's manifest; raises InvalidError for an incomplete or foreign archive."""
    try:
        raw: dict[str, Any] = orjson.loads(archive.read(NAME))
    except KeyError:
        raise InvalidError("The archive is incomplete: it has no manifest") from None
    if raw.get("format") != FORMAT:
        raise InvalidError(
            f"The archive has format {raw.get('format')!r}, this Hone reads {FORMAT}"
        )
    try:
        return Manifest(
            **{
                **raw,
                "tables": [Table(**table) for table in raw["tables"]],
                "partitions": [Partition(**partition) for partition in raw["partitions"]],
                "sequences": [Sequence(**sequence) for sequence in raw["sequences"]],
            }
        )
    except (TypeError, KeyError) as error:
        raise InvalidError(f"The archive's manifest is not readable: {error}") from None
