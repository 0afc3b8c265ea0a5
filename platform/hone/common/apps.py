from django.apps import AppConfig


class CommonConfig(AppConfig):
    name = "hone.common"
    label = "common"
