"""One call of OpenAI's client as an observation. Nothing here raises into the caller."""

from collections.abc import Mapping
from typing import Any

from hone.sdk.client import client
from hone.sdk.context import headers_out
from hone.sdk.guard import guarded
from hone.sdk.observation import NOTHING
from hone.sdk.openai.endpoints import Endpoint, field, is_given, parameters_of, usage_of
from hone.sdk.openai.pieces import Pieces


class Call:
    """From the request to the end of its answer."""

    def __init__(self, endpoint: Endpoint, asked: dict[str, Any], base_url: str) -> None:
        self.asked = asked
        self._endpoint = endpoint
        self._via_hone = False
        self._pieces: Pieces | None = None
        self._observation = NOTHING
        self._open(base_url)

    @guarded(None)
    def _open(self, base_url: str) -> None:
        found = client()
        if found is None:
            return
        endpoint, asked = self._endpoint, self.asked
        model = asked.get("model")
        # Hone's gateway records the model call itself: counted here too, its tokens would double.
        address = f"{base_url.rstrip('/')}/".lower()
        self._via_hone = address.startswith(f"{found.options.origin}/v1/")
        kind = "span" if self._via_hone else endpoint.kind
        name = f"{endpoint.name} {model}" if isinstance(model, str) else endpoint.name
        self._observation = found.open(name, kind)
        self._observation.update(
            input=endpoint.input(asked),
            model=model if isinstance(model, str) and not self._via_hone else None,
            parameters=None if self._via_hone else parameters_of(asked) or None,
        )
        self._label(asked)
        if self._via_hone:
            self._join()

    def _label(self, asked: Mapping[str, Any]) -> None:
        user, metadata = asked.get("user"), asked.get("metadata")
        self._observation.update(
            user=user if isinstance(user, str) else None,
            metadata=metadata if is_given(metadata) and isinstance(metadata, Mapping) else None,
        )

    def _join(self) -> None:
        """The gateway's spans become children of this one."""
        given = self.asked.get("extra_headers")
        headers = dict(given) if isinstance(given, Mapping) else {}
        self._observation.enter()
        headers_out(headers)
        self._observation.leave()
        self.asked = {**self.asked, "extra_headers": headers}

    def fail(self, error: BaseException) -> None:
        """The request failed, or its stream."""
        self._observation.fail(error)
        status = getattr(error, "status_code", None)
        if isinstance(status, int):
            self._observation.attribute("http.response.status_code", status)
        self._finish()

    def answered(self, answer: Any) -> None:
        """The whole answer is there."""
        self._say(answer)
        self._observation.end()

    @guarded(None)
    def _say(self, answer: Any) -> None:
        if answer is None:
            return
        self._usage(field(answer, "model"), usage_of(answer))
        self._observation.update(output=self._endpoint.output(answer))

    def stream_begins(self) -> bool:
        """The answer comes in chunks; whether this endpoint's can be read."""
        if self._endpoint.pieces is None:
            self._observation.end()
            return False
        self._pieces = self._endpoint.pieces()
        return True

    @guarded(None)
    def took(self, chunk: Any) -> None:
        """A chunk on its way to the caller."""
        if self._pieces is not None and self._pieces.add(chunk):
            self._observation.first_token()

    def stream_ended(self, error: BaseException | None = None) -> None:
        """No more chunks: the end, an error, or the caller stopped reading."""
        if error is not None:
            self.fail(error)
        self._finish()

    @guarded(None)
    def _finish(self) -> None:
        pieces = self._pieces
        if pieces is not None:
            self._usage(pieces.model, usage_of(pieces))
            self._observation.update(output=pieces.output())
        self._observation.end()

    def _usage(self, model: object, usage: object) -> None:
        if not self._via_hone:
            self._observation.update(model=model if isinstance(model, str) else None, usage=usage)
