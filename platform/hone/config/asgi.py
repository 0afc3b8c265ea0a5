"""The web process: `uvicorn hone.config.asgi:application --lifespan off`."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hone.config.settings.prod")
django.setup(set_prefix=False)

from hone.config.routing import build  # noqa: E402  (needs Django set up)

application = build()
