"""The URL table of /api. Each app brings its own; more specific ones stand first."""

from django.urls import include, path
from drf_spectacular.views import SpectacularJSONAPIView

handler400 = "hone.common.rest.bad_request"
handler404 = "hone.common.rest.not_found"
handler500 = "hone.common.rest.server_error"

APPS = [
    "hone.accounts.urls",
    "hone.collab.urls",
    "hone.prompts.urls",
    "hone.traces.urls",
    "hone.evals.urls",
    "hone.gateway.urls",
]

urlpatterns = [
    path("api/schema", SpectacularJSONAPIView.as_view(), name="schema"),
    *(path("api/", include(urls)) for urls in APPS),
]
