"""The table of URLs, walked: every endpoint with an address that it matches in project "demo"."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern

METHODS = ("get", "post", "put", "patch", "delete")
OPEN = {"api/auth/login", "api/auth/logout", "api/auth/me"}  # they serve whoever is outside
SAMPLES = {
    "int": "1",
    "str": "x",
    "slug": "x",
    "path": "x/y",
    "uuid": "-".join("0" * n for n in (8, 4, 4, 4, 12)),
}


@dataclass(frozen=True)
class Endpoint:
    method: str
    route: str
    path: str
    is_certain: bool = True  # False: the method is tried, the view may not have it

    def __str__(self) -> str:
        return f"{self.method} {self.route}"


def sample(pattern: RoutePattern) -> str:
    """An address that the route matches, in the project "demo"."""
    route = str(pattern)
    for name, converter in pattern.converters.items():
        kind = type(converter).__name__.removesuffix("Converter").lower()
        kind = {"string": "str"}.get(kind, kind)
        value = "demo" if name == "project" else SAMPLES.get(kind, "x")
        for spelled in (f"<{kind}:{name}>", f"<{name}>"):
            route = route.replace(spelled, value)
    assert "<" not in route, f"no sample for {route}"
    return route


def class_of(pattern: URLPattern) -> Any:
    view: Any = pattern.callback
    return getattr(view, "cls", None) or getattr(view, "view_class", None)


def is_class(pattern: URLPattern) -> bool:
    return class_of(pattern) is not None


def methods_of(pattern: URLPattern) -> list[str]:
    """What a class answers; a plain function does not say, so the usual two are tried."""
    cls = class_of(pattern)
    return [m for m in METHODS if hasattr(cls, m)] if cls else ["get", "post"]


def walk(resolver: URLResolver, route: str = "", path: str = "") -> Iterator[Endpoint]:
    for entry in resolver.url_patterns:
        assert isinstance(entry.pattern, RoutePattern), f"write {entry.pattern} with path()"
        below = route + str(entry.pattern), path + sample(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from walk(entry, *below)
        else:
            for method in methods_of(entry):
                yield Endpoint(method.upper(), *below, is_certain=is_class(entry))


ENDPOINTS = list(walk(get_resolver()))
PUBLIC = [endpoint for endpoint in ENDPOINTS if endpoint.route.startswith("api/public/")]
OF_A_PROJECT = [endpoint for endpoint in ENDPOINTS if "<slug:project>" in endpoint.route]
