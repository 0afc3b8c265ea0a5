"""The one client of a process: tracer, courier, and the options both follow."""

import atexit
import multiprocessing.util
import os
from typing import Any, Final

from opentelemetry import context as otel
from opentelemetry import trace as otel_trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanKind

from hone.sdk import keys
from hone.sdk.delivery import Courier, Stats
from hone.sdk.delivery.processor import Processor
from hone.sdk.delivery.transport import Transport, sdk_version
from hone.sdk.observation import MAX_NAME_LEN, NOTHING, Observation
from hone.sdk.options import Mask, Options, from_environment, labels, log
from hone.sdk.values import cut

SCOPE: Final = "hone.sdk"
MAX_ATTRIBUTES: Final = 1000


class Client:
    """Opens observations and queues what has ended."""

    def __init__(self, options: Options, provider: TracerProvider | None = None) -> None:
        self.options = options
        transport = Transport(options.url, options.authorization, options.timeout_s)
        self.courier = Courier(options, transport)
        self.provider = provider or _provider(options)
        self.provider.add_span_processor(Processor(self.courier))
        self._tracer = self.provider.get_tracer(SCOPE, sdk_version())

    def open(
        self,
        name: str,
        kind: str = "span",
        *,
        context: otel.Context | None = None,
        span_kind: SpanKind = SpanKind.INTERNAL,
    ) -> Observation:
        """A started observation that is not the current one yet."""
        try:
            span = self._tracer.start_span(
                cut(name, MAX_NAME_LEN),
                context,
                span_kind,
                {keys.TYPE: kind if kind in keys.KINDS else "span"},
            )
            return Observation(span, self.options.max_value_len)
        except Exception:
            log.debug("hone: no span could be started", exc_info=True)
            return NOTHING

    def close(self) -> None:
        """Send what waits, within `exit_timeout_s`."""
        self.courier.close(self.options.exit_timeout_s)


def _provider(options: Options) -> TracerProvider:
    given: dict[str, Any] = {
        "service.name": options.service,
        keys.ENVIRONMENT: options.environment,
        keys.RELEASE: options.release,
        "process.pid": os.getpid(),
    }
    return TracerProvider(
        resource=Resource.create({key: value for key, value in given.items() if value is not None}),
        sampler=ParentBased(
            ALWAYS_ON if options.sample_rate >= 1 else TraceIdRatioBased(options.sample_rate)
        ),
        span_limits=SpanLimits(
            max_span_attributes=MAX_ATTRIBUTES, max_attribute_length=options.max_value_len + 100
        ),
        shutdown_on_exit=False,
    )


_client: Client | None = None
_global: TracerProvider | None = None  # the one of ours that is OpenTelemetry's


def client() -> Client | None:
    """The client that `init` made; None before it and after `shutdown`."""
    return _client


def init(
    url: str | None = None,
    *,
    public_key: str | None = None,
    secret_key: str | None = None,
    api_key: str | None = None,
    service: str | None = None,
    environment: str | None = None,
    release: str | None = None,
    sample_rate: float = 1.0,
    mask: Mask | None = None,
    tracer_provider: TracerProvider | None = None,
    set_global: bool = True,
    **limits: Any,
) -> bool:
    """Start recording; whether it does: False, with a line in the log, without address or key.

    Address and keys come from `HONE_URL`, `HONE_SECRET_KEY` and `HONE_PUBLIC_KEY` where they are
    not given; `api_key` is another name of `secret_key`. With `tracer_provider` the spans of an
    OpenTelemetry set up before go to Hone too, else ours becomes the global one where none is.
    `limits` are the other fields of `Options`. Raises ValueError and TypeError for what these
    cannot be. A second call replaces the first.
    """
    found = from_environment(url, public_key, secret_key or api_key)
    if found is None:
        log.warning("hone: no address or key, nothing is recorded: set HONE_URL, HONE_SECRET_KEY")
        return False
    known_environment, known_release = labels()
    options = Options(
        url=found[0],
        public_key=found[1],
        secret_key=found[2],
        service=service,
        environment=environment or known_environment,
        release=release or known_release,
        sample_rate=sample_rate,
        mask=mask,
        **limits,
    )
    new = Client(options, tracer_provider)
    _replace(new)
    if tracer_provider is None and set_global:
        _be_global(new)
    return True


def shutdown() -> None:
    """Send what waits and stop recording."""
    _replace(None)


def flush(timeout_s: float = 10.0) -> bool:
    """Wait until everything recorded so far is delivered; False where that takes longer."""
    return _client.courier.flush(timeout_s) if _client is not None else True


def stats() -> Stats:
    """What became of spans and scores of this process."""
    return _client.courier.stats() if _client is not None else Stats(0, 0, 0, 0)


def _replace(new: Client | None) -> None:
    global _client
    old, _client = _client, new
    if old is not None:
        old.close()


def _be_global(new: Client) -> None:
    """OpenTelemetry takes a global provider once: a later client's spans go through the first."""
    global _global
    known = otel_trace.get_tracer_provider()
    if not isinstance(known, TracerProvider):
        _global = new.provider
        otel_trace.set_tracer_provider(new.provider)
    elif known is _global and known is not new.provider:
        known.add_span_processor(Processor(new.courier))


@atexit.register
def _at_exit() -> None:
    if _client is not None:
        _client.close()


def _in_child(_: object) -> None:
    # multiprocessing ends its children without `atexit`, but runs these.
    multiprocessing.util.Finalize(None, _at_exit, exitpriority=100)


multiprocessing.util.register_after_fork(_in_child, _in_child)
