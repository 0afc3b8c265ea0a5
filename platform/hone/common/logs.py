"""Logging: one JSON object a line on stderr, with the request's id and without secrets."""

import logging
import logging.config
import re
from collections.abc import Mapping
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

from hone.common import request_id

SECRET_NAMES = re.compile(
    r"authori[sz]ation|cookie|password|passwd|secret|api_?key|token$|csrf", re.IGNORECASE
)
SECRET_VALUES = re.compile(
    r"\b(sk-[A-Za-z0-9-]{2})[A-Za-z0-9_-]{6,}|((?:Bearer|Basic)\s+)[A-Za-z0-9+/=_.~-]{6,}"
    r"|(://[^/\s:@]*:)[^@\s/]+(?=@)"
)
HIDDEN = "[hidden]"


def redact_text(text: str) -> str:
    """`text` with keys, credentials and passwords of URLs blanked."""
    return SECRET_VALUES.sub(lambda m: next(filter(None, m.groups()), "") + HIDDEN, text)


def redact(value: Any) -> Any:
    """`value` with every secret blanked, by the name of its field or by its look."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        return {
            k: HIDDEN if SECRET_NAMES.search(str(k)) and v else redact(v) for k, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact(item) for item in value]
    return value


def _redact_event(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    hidden: EventDict = redact(event)
    return hidden


def _add_request_id(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    if current := request_id.current.get():
        event.setdefault("request_id", current)
    return event


def configure(config: Mapping[str, Any]) -> None:
    """Set up logging; Django calls it with settings.LOGGING: {"level": name, "json": bool}."""
    # First what structlog's own formatter may drop (exc_info), then hide, then render.
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_request_id,
        structlog.processors.format_exc_info,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if config.get("json", True)
        else structlog.dev.ConsoleRenderer(colors=False)
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.PositionalArgumentsFormatter(),
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "hone": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": shared,
                    "processors": [
                        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                        _redact_event,
                        renderer,
                    ],
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "hone"}},
            "root": {"handlers": ["stderr"], "level": config.get("level", "INFO")},
            "loggers": {
                # Werkzeug-like access lines say nothing that the edge does not log itself.
                "uvicorn.access": {"level": "WARNING"},
                "uvicorn": {"handlers": [], "propagate": True},
                "uvicorn.error": {"handlers": [], "propagate": True},
                "httpx": {"level": "WARNING"},
                "django.request": {"level": "ERROR"},
            },
        }
    )
