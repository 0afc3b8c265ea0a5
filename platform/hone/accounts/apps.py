from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "hone.accounts"
    label = "accounts"
