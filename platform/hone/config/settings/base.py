"""Settings that hold everywhere; each reads its value from the environment."""

from pathlib import Path
from typing import Any

from hone.config import environment

PACKAGE_DIR = Path(__file__).resolve().parents[2]

SECRET_KEY = environment.text("HONE_SERVER_SECRET")
HONE_DATA_DIR = Path(environment.text("HONE_DATA_DIR", ".hone")).resolve()
HONE_URL = environment.text("HONE_URL").rstrip("/")  # the address that people type, if known
HONE_UI_DIR = Path(environment.text("HONE_UI_DIR", str(PACKAGE_DIR / "ui")))
REDIS_URL = environment.text("REDIS_URL", "redis://127.0.0.1:6379/0")
HONE_REDIS_PREFIX = environment.text("HONE_REDIS_PREFIX", "hone")
DATABASE_URL = environment.text("DATABASE_URL", "postgresql://127.0.0.1/hone")

DEBUG = False
ALLOWED_HOSTS = environment.names("HONE_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
ROOT_URLCONF = "hone.config.urls"
USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False
APPEND_SLASH = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "rest_framework",
    # drf_spectacular is an app only for its command (dev, test): as one it would load all of the
    # REST framework into every worker.
    "hone.common",
    "hone.accounts",
    "hone.traces",
    "hone.prompts",
    "hone.evals",
    "hone.collab",
    "hone.gateway",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.common.CommonMiddleware",  # refuses strange hosts, sets Content-Length
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

# Connections are pooled: a request thread lives for one request only, so a persistent connection
# bound to a thread would never be used twice.
DATABASES: dict[str, dict[str, Any]] = {"default": environment.database(DATABASE_URL)}
DATABASES["default"]["OPTIONS"]["pool"] = {
    "min_size": 0,
    "max_size": 16,
    "timeout": 4,  # seconds that a request waits for a connection before it is told 503
    "max_idle": 60,  # an idle server process costs memory
    # After this the pool starts anew at the next request; its own pauses between tries double, so
    # that a server that comes back would be noticed a minute late.
    "reconnect_timeout": 2,
}
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
HONE_DATABASE_THREADS = 8  # of one web process, for the raw ASGI routes
CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}

AUTH_USER_MODEL = "accounts.User"
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
SESSION_ENGINE = "django.contrib.sessions.backends.db"
SESSION_COOKIE_NAME = "hone_session"
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "hone.common.rest.csrf_failure"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = environment.flag(
    "HONE_SECURE_COOKIES", HONE_URL.startswith("https://")
)
CSRF_TRUSTED_ORIGINS = [HONE_URL] if HONE_URL else []
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

HONE_MAX_BODY_BYTES = 4 * 1024 * 1024  # of a request to Django; the ingest doors have their own
DATA_UPLOAD_MAX_MEMORY_SIZE = HONE_MAX_BODY_BYTES

HONE_TRACES_MAX_BODY_BYTES = 32 * 1024 * 1024  # of one export as sent ...
HONE_TRACES_MAX_INFLATED_BYTES = 64 * 1024 * 1024  # ... and without its Content-Encoding
HONE_TRACES_PENDING_BYTES = 192 * 1024 * 1024  # of exports being read, before 503
HONE_TRACES_BUFFER_SPANS = 20_000  # waiting to be written in one web process, before 503
HONE_TRACES_PARTITION_DAYS = int(environment.text("HONE_TRACES_PARTITION_DAYS", "7"))
HONE_BROWSER_SCORES = environment.flag("HONE_BROWSER_SCORES", True)
HONE_TRACES_MASK_HOOK = environment.text("HONE_TRACES_MASK_HOOK", "")  # module.function
HONE_TRACES_HISTORY_DAYS = int(environment.text("HONE_TRACES_HISTORY_DAYS", "1830"))
HONE_TRACES_RETENTION_DAYS = int(environment.text("HONE_TRACES_RETENTION_DAYS", "0"))  # 0: for ever
HONE_MEDIA_MAX_BYTES = int(environment.text("HONE_MEDIA_MAX_BYTES", str(64 * 1024 * 1024)))

HONE_LOGIN_ATTEMPTS = 8  # failed sign-ins of one address with one email ...
HONE_LOGIN_WINDOW_S = 300  # ... in this time, before 429

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "hone.accounts.api.authentication.KeyAuthentication",
        "hone.accounts.api.authentication.SignedInAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["hone.common.rest.JsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["hone.common.rest.JsonParser"],
    "DEFAULT_SCHEMA_CLASS": "hone.common.schema.Schema",
    "EXCEPTION_HANDLER": "hone.common.rest.exception_response",
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Hone",
    "DESCRIPTION": "Prompts, traces and the engine of one Hone installation.",
    "VERSION": "0.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SCHEMA_PATH_PREFIX": r"/api/(projects/\{project\}/)?",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "Role": "hone.accounts.api.serializers.ROLES",
        "JobState": ["queued", "running", "done", "failed", "canceled"],
        "EngineState": ["ready", "starting", "down"],
        "PromptType": "hone.prompts.api.serializers.TYPES",
        "TraceStatus": ["ok", "error"],
        "ConnectionKind": ["local", "remote"],
        "DraftStatus": ["open", "closed"],
        "MergeKind": ["same", "mine", "theirs", "both", "conflict"],
        "ConflictKind": ["text", "value", "presence", "order"],
        "VerdictKind": ["approved", "changes"],
        "ProposalStatus": ["open", "published", "withdrawn"],
        "SpanStatus": ["error", "ok", "unset"],
        "ObservationType": "hone.traces.api.bodies.TYPE_CHOICES",
        "ScoreType": "hone.traces.core.scores.TYPES",
        "ScoreConfigType": "hone.traces.core.scores.CONFIG_TYPES",
        "DatasetItemStatus": ["ACTIVE", "ARCHIVED"],
        "ScoreSource": "hone.traces.core.scores.SOURCES",
        "CommentKind": ["TRACE", "OBSERVATION", "SESSION", "PROMPT"],
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "hone.common.schema.add_errors",
    ],
}

LOGGING_CONFIG = "hone.common.logs.configure"
LOGGING = {"level": environment.text("HONE_LOG_LEVEL", "INFO"), "json": True}

# The gateway. Remote connections may name the inner network only where everybody who can reach
# this installation sits on the same machine (hone up on loopback sets it to 1).
HONE_ALLOW_PRIVATE_CONNECTIONS = environment.flag("HONE_ALLOW_PRIVATE_CONNECTIONS")
HONE_GATEWAY_MAX_BODY_BYTES = 8 * 1024 * 1024
HONE_GATEWAY_MAX_CONCURRENT = int(environment.text("HONE_GATEWAY_MAX_CONCURRENT", "400"))
HONE_GATEWAY_READ_TIMEOUT_S = float(environment.text("HONE_GATEWAY_READ_TIMEOUT_S", "300"))
HONE_RUN_LEASE_S = int(environment.text("HONE_RUN_LEASE_S", "20"))  # of an item of a batch run
HONE_RUN_IN_FLIGHT = int(environment.text("HONE_RUN_IN_FLIGHT", "32"))  # items at once in an engine
# The engine of the gpu worker: the model's folder, and settings of hone_engine.config (0: default).
HONE_ENGINE_MODEL = environment.text("HONE_ENGINE_MODEL")
HONE_ENGINE_THREADS = int(environment.text("HONE_ENGINE_THREADS", "0"))
HONE_ENGINE_CACHE_TOKENS = int(environment.text("HONE_ENGINE_CACHE_TOKENS", "0"))
HONE_ENGINE_MAX_BATCH = int(environment.text("HONE_ENGINE_MAX_BATCH", "0"))
HONE_ENGINE_HOST = environment.text("HONE_ENGINE_HOST", "127.0.0.1")  # where its HTTP listens
HONE_ENGINE_PORT = int(environment.text("HONE_ENGINE_PORT", "0"))  # 0: any free one
HONE_ENGINE_URL = environment.text("HONE_ENGINE_URL").rstrip("/")  # as others reach it, if else
