from django.apps import AppConfig


class CollabConfig(AppConfig):
    name = "hone.collab"
    label = "collab"
