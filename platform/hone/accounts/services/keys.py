"""API keys: made, revoked, and resolved on every request of a program."""

import asyncio
import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import structlog
from django.db import transaction
from django.db.models import Q

from hone.accounts.core.key_cache import KeyCache
from hone.accounts.core.keys import MAX_LEN, PUBLIC_PREFIX, SECRET_PREFIX, KeyPair, key_pair
from hone.accounts.models import ApiKey, Project, User
from hone.accounts.services.rights import revoked_tell
from hone.common import clock, crypto
from hone.common.broadcast import Broadcast
from hone.common.database import database_call
from hone.common.errors import InvalidError, NotFoundError
from hone.common.flights import Flights

log = structlog.get_logger(__name__)
PURPOSE = "api-key"
STALE_S = 5.0  # how long a revoked key may live on where the revocation did not arrive
USED_EVERY = timedelta(minutes=1)  # how often the time of use is written at most


@dataclass(frozen=True, slots=True)
class KeyScope:
    """What a key opens."""

    project_id: int
    project_slug: str
    key_id: int
    public_key: str


_cache: KeyCache[KeyScope] = KeyCache(STALE_S)
_revocations = Broadcast("revoked-keys", _cache.drop)
_flights: Flights[tuple[int, KeyScope | None]] = Flights()


def api_key_create(
    *, project: Project, name: str, created_by: User | None = None, pair: KeyPair | None = None
) -> tuple[ApiKey, str]:
    """A new key and its secret, which is readable only now."""
    name = name.strip()
    if not 1 <= len(name) <= 120:
        raise InvalidError(f"name: got {len(name)} characters, want 1 to 120", field="name")
    pair = pair or key_pair(secrets.token_hex(12), secrets.token_urlsafe(32))
    key = ApiKey.objects.create(
        project=project,
        name=name,
        public_key=pair.public,
        secret_hash=crypto.keyed_hash(PURPOSE, pair.secret),
        secret_hint=pair.hint,
        created_by=created_by,
    )
    return key, pair.secret


def api_key_revoke(*, project: Project, key_id: int) -> ApiKey:
    """End a key at once, in every process; a second time changes nothing."""
    with transaction.atomic():
        key = ApiKey.objects.select_for_update().filter(project=project, pk=key_id).first()
        if key is None:
            raise NotFoundError(f"There is no key {key_id}")
        if key.revoked_at is None:
            key.revoked_at = clock.now()
            key.save(update_fields=["revoked_at"])
        transaction.on_commit(lambda: _revocations.tell(key.secret_hash))
        revoked_tell(key)
    return key


def key_resolve(secret: str, public: str | None = None) -> KeyScope | None:
    """What `secret` opens, None for a key that is unknown, revoked or not `public`'s secret.

    The answer may be `STALE_S` old; a revocation reaches the cache within milliseconds.
    """
    if not _plausible(secret):
        return None
    digest = crypto.keyed_hash(PURPOSE, secret)
    scope = _cache.get(digest) or _resolve(digest)
    return _matching(scope, public)


async def key_resolve_async(secret: str, public: str | None = None) -> KeyScope | None:
    """`key_resolve` for raw ASGI routes: no thread is asked where the answer is known.

    What is known is read again behind the answers before it is too old, and once for all who ask
    at the same time.
    """
    if not _plausible(secret):
        return None
    digest = crypto.keyed_hash(PURPOSE, secret)
    scope = _cache.get(digest)
    if scope is None:
        began, scope = await asyncio.shield(_flights.fly(digest, partial(_resolve_dated, digest)))
        if began != _cache.generation:  # a key was revoked meanwhile, and may be this one
            scope = await database_call(_resolve, digest)
    elif _cache.is_aging(digest):
        _flights.fly(digest, partial(_resolve_dated, digest))
    return _matching(scope, public)


async def _resolve_dated(digest: str) -> tuple[int, KeyScope | None]:
    """What a key opens, and the cache's generation when it was asked."""
    generation = _cache.generation
    return generation, await database_call(_resolve, digest)


def key_named(public: str) -> KeyScope | None:
    """The key that goes by a public name. It proves nothing: whoever sees a page knows it."""
    key = ApiKey.objects.filter(public_key=public, revoked_at=None).select_related("project")
    found = key.first() if public.startswith(PUBLIC_PREFIX) and public.isascii() else None
    if found is None:
        return None
    return KeyScope(found.project_id, found.project.slug, found.pk, found.public_key)


def _plausible(secret: str) -> bool:
    return secret.startswith(SECRET_PREFIX) and len(secret) <= MAX_LEN and secret.isascii()


def _matching(scope: KeyScope | None, public: str | None) -> KeyScope | None:
    if scope is None or public is None:
        return scope
    same = hmac.compare_digest(scope.public_key.encode(), public.encode())
    return scope if same else None


def _resolve(digest: str) -> KeyScope | None:
    _revocations.listen()
    generation = _cache.generation
    key = (
        ApiKey.objects.filter(secret_hash=digest, revoked_at=None).select_related("project").first()
    )
    if key is None:
        return None
    _mark_used(key)
    scope = KeyScope(key.project_id, key.project.slug, key.pk, key.public_key)
    _cache.put(digest, scope, generation)
    return scope


def _mark_used(key: ApiKey) -> None:
    """Note the time of use, at most once a minute, whichever process is first."""
    now = clock.now()
    old = Q(latest_used_at=None) | Q(latest_used_at__lt=now - USED_EVERY)
    if key.latest_used_at is None or key.latest_used_at < now - USED_EVERY:
        ApiKey.objects.filter(old, pk=key.pk).update(latest_used_at=now)


def reset_cache() -> None:
    """Forget all resolved keys, as after a restart."""
    _cache.clear()
