"""The gateway's part of /api."""

from django.urls import path

from hone.gateway.api import views
from hone.gateway.api.chat import chat_completions

PROJECT = "projects/<slug:project>"

urlpatterns = [
    path(f"{PROJECT}/connections", views.ConnectionList.as_view()),
    path(f"{PROJECT}/connections/<int:connection>", views.ConnectionDetail.as_view()),
    path(f"{PROJECT}/connections/<int:connection>/test", views.ConnectionTest.as_view()),
    path(f"{PROJECT}/models", views.ModelList.as_view()),
    path(f"{PROJECT}/engine", views.EngineDetail.as_view()),
    path(f"{PROJECT}/runs", views.RunList.as_view()),
    path(f"{PROJECT}/runs/<int:run>", views.RunDetail.as_view()),
    path(f"{PROJECT}/runs/<int:run>/items", views.RunItems.as_view()),
    path(f"{PROJECT}/runs/<int:run>/cancel", views.RunCancel.as_view()),
    path(f"{PROJECT}/chat/completions", chat_completions),
]
