from django.apps import AppConfig


class GatewayConfig(AppConfig):
    name = "hone.gateway"
    label = "gateway"
