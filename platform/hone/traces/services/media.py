"""Files announced, stored in pieces, referred to, and deleted with their last reference."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import IO, Final

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from hone.common import clock, crypto
from hone.common.errors import InvalidError, NotFoundError, TooLargeError
from hone.traces.core.ids import span_key, trace_key
from hone.traces.core.media import FIELDS, content_type_clean, media_key, sha256_of
from hone.traces.core.signed import token_make, token_read
from hone.traces.models import Media, MediaChunk, MediaUse

CHUNK_BYTES: Final = 256 * 1024
LIFETIME: Final = timedelta(hours=1)
UPLOAD, READ = "put", "get"
_ABANDONED: Final = timedelta(days=1)  # an announced file that never came
_BATCH: Final = 8  # chunks in one statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a file is referred to."""

    field: str
    trace_id: str | None = None
    observation_id: str | None = None
    dataset_id: str | None = None
    dataset_item_id: str | None = None


def media_announce(
    *, project_id: int, content_type: str, num_bytes: int, sha256: str, place: Place
) -> Media:
    """The file of that content, made if it is new; it may have its bytes already.

    Raises InvalidError, TooLargeError.
    """
    limit: int = settings.HONE_MEDIA_MAX_BYTES
    if num_bytes > limit:
        raise TooLargeError(f"contentLength: {num_bytes} bytes, at most {limit} are taken")
    if num_bytes < 1 or place.field not in FIELDS:
        raise InvalidError(f"Want a contentLength over 0 and a field of {', '.join(FIELDS)}")
    raw = sha256_of(sha256)
    with transaction.atomic():
        media, _ = Media.objects.get_or_create(
            project_id=project_id,
            key=media_key(raw),
            defaults={
                "sha256": raw,
                "content_type": content_type_clean(content_type),
                "num_bytes": num_bytes,
                "created_at": clock.now(),
            },
        )
        if bytes(media.sha256) != raw or media.num_bytes != num_bytes:
            raise InvalidError("sha256Hash: it belongs to a file of another length")
        media_refer(media=media, place=place)
    return media


def media_refer(*, media: Media, place: Place) -> None:
    """Note that the file is referred to there; a second time changes nothing."""
    MediaUse.objects.get_or_create(
        media=media,
        field=place.field,
        trace_id=trace_key(place.trace_id) if place.trace_id else "",
        observation_id=span_key(place.observation_id) if place.observation_id else "",
        dataset_id=place.dataset_id or "",
        dataset_item_id=place.dataset_item_id or "",
    )


def media_store(*, media_id: int, content: IO[bytes]) -> bool:
    """Write the bytes, whose hash was checked; False where they were there already."""
    with transaction.atomic():
        media = Media.objects.select_for_update().filter(pk=media_id).first()
        if media is None:
            raise NotFoundError("The file was deleted meanwhile")
        if media.uploaded_at is not None:
            return False
        pieces = iter(lambda: content.read(CHUNK_BYTES), b"")
        chunks = (
            MediaChunk(media=media, position=position, data=piece)
            for position, piece in enumerate(pieces)
        )
        for some in _batches(chunks):
            MediaChunk.objects.bulk_create(some)
        media.uploaded_at = clock.now()
        media.save(update_fields=["uploaded_at"])
    return True


def _batches(chunks: Iterable[MediaChunk]) -> Iterable[list[MediaChunk]]:
    """A few at a time: a file is never in memory as a whole."""
    some: list[MediaChunk] = []
    for chunk in chunks:
        some.append(chunk)
        if len(some) == _BATCH:
            yield some
            some = []
    if some:
        yield some


def media_release(*, project_id: int, trace_ids: Collection[str]) -> None:
    """Forget the references of traces (hex); files that nothing refers to any more go."""
    _release(MediaUse.objects.filter(media__project_id=project_id, trace_id__in=list(trace_ids)))


def media_release_item(*, project_id: int, item_key: str) -> None:
    """Forget the references of a dataset item, as `media_release`."""
    _release(MediaUse.objects.filter(media__project_id=project_id, dataset_item_id=item_key))


def media_release_dataset(*, project_id: int, dataset_key: str) -> None:
    """Forget the references of a dataset's items, as `media_release`."""
    _release(MediaUse.objects.filter(media__project_id=project_id, dataset_id=dataset_key))


def _release(uses: QuerySet[MediaUse, MediaUse]) -> None:
    touched = set(uses.values_list("media_id", flat=True))
    if touched:
        uses.delete()
        media_unused_delete(touched)


def media_unused_delete(ids: Collection[int]) -> None:
    """Delete those of the files that nothing refers to any more."""
    if ids:
        Media.objects.filter(pk__in=ids, uses=None).delete()


def media_sweep() -> int:
    """Delete announced files whose bytes never came; how many."""
    old = Media.objects.filter(uploaded_at=None, created_at__lt=clock.now() - _ABANDONED)
    number = old.count()
    old.delete()
    return number


def media_token(media: Media, verb: str) -> tuple[str, datetime]:
    """A token that lets its holder upload (UPLOAD) or read (READ) the file, and its end."""
    until = clock.now() + LIFETIME
    return token_make([verb, media.pk], until, _sign), until


def media_of_token(token: str, verb: str) -> int:
    """The file that a token opens; raises NotFoundError."""
    facts = token_read(token, clock.now(), _sign)
    if facts is None or facts[0] != verb:
        raise NotFoundError("This address is not valid, or its time is over")
    return int(facts[1])


def _sign(text: str) -> str:
    return crypto.keyed_hash("media", text)[:32]
