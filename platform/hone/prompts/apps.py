from django.apps import AppConfig


class PromptsConfig(AppConfig):
    name = "hone.prompts"
    label = "prompts"
