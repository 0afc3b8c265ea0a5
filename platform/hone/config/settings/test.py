"""The test suite: the servers of DATABASE_URL and REDIS_URL, or embedded ones.

The embedded servers are started by tests/platform/conftest.py at the paths named here.
"""

import os
import tempfile
from pathlib import Path

from hone.config import environment
from hone.config.settings.base import *  # noqa: F403
from hone.config.settings.base import INSTALLED_APPS, LOGGING, REST_FRAMEWORK

INSTALLED_APPS = [*INSTALLED_APPS, "drf_spectacular"]
# Short: the path of a Unix socket has at most 107 bytes.
HONE_TEST_DIR = Path(tempfile.gettempdir()) / f"hone-test-{os.getpid()}"
EMBEDDED_DATABASE = not environment.text("DATABASE_URL")
EMBEDDED_REDIS = not environment.text("REDIS_URL")

# Test data need not survive a crash of the machine.
os.environ.setdefault("PGOPTIONS", "-c synchronous_commit=off")
SECRET_KEY = "only-for-tests-0123456789-0123456789-0123456789"
HONE_DATA_DIR = HONE_TEST_DIR / "data"
HONE_UI_DIR = HONE_TEST_DIR / "ui"
DATABASE_URL = environment.text(
    "DATABASE_URL", f"postgresql://postgres@/postgres?host={HONE_TEST_DIR / 'run/pg'}"
)
REDIS_URL = environment.text("REDIS_URL", f"unix://{HONE_TEST_DIR / 'run/valkey.sock'}?db=0")
HONE_REDIS_PREFIX = f"hone-test-{os.getpid()}"
DATABASES = {"default": environment.database(DATABASE_URL)}
DATABASES["default"]["TEST"] = {"NAME": f"test_hone_{os.getpid()}"}
# Work of raw ASGI routes runs in the test's own thread, inside its transaction.
HONE_DATABASE_THREADS = 0
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
REST_FRAMEWORK = {**REST_FRAMEWORK, "TEST_REQUEST_DEFAULT_FORMAT": "json"}
LOGGING = {**LOGGING, "level": "WARNING"}
