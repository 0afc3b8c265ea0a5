"""A trace for each request: `asgi.HoneMiddleware`, `wsgi.HoneMiddleware`, `django.middleware`."""
