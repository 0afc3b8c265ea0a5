"""A checkout on a developer's machine."""

from hone.config.settings.base import *  # noqa: F403
from hone.config.settings.base import INSTALLED_APPS, LOGGING, SECRET_KEY

DEBUG = True
INSTALLED_APPS = [*INSTALLED_APPS, "drf_spectacular"]
SECRET_KEY = SECRET_KEY or "development-only-and-known-to-everybody"
LOGGING = {**LOGGING, "json": False}
