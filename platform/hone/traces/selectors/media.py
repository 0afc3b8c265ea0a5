"""Files and their bytes."""

from collections.abc import Collection

from hone.common.errors import NotFoundError
from hone.traces.models import Media, MediaChunk


def media_get(project_id: int, key: str) -> Media:
    """A file that is here whole; raises NotFoundError."""
    found = Media.objects.filter(project_id=project_id, key=key).first()
    if found is None or found.uploaded_at is None:
        raise NotFoundError(f"There is no file {key!r}")
    return found


def media_known(project_id: int, keys: Collection[str]) -> dict[str, Media]:
    """Those of the files that are here whole, by key."""
    rows = Media.objects.filter(
        project_id=project_id, key__in=list(keys), uploaded_at__isnull=False
    )
    return {row.key: row for row in rows}


def media_by_id(media_id: int) -> Media:
    """A file, whole or only announced; raises NotFoundError."""
    found = Media.objects.filter(pk=media_id).first()
    if found is None:
        raise NotFoundError("The file was deleted")
    return found


def media_chunk(media_id: int, position: int) -> bytes | None:
    """A piece of the file; None past its end."""
    found = MediaChunk.objects.filter(media_id=media_id, position=position).only("data").first()
    return None if found is None else bytes(found.data)
