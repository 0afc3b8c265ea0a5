from django.apps import AppConfig
from django.utils.module_loading import import_string

from hone.evals.core.experiment import ID


class EvalsConfig(AppConfig):
    name = "hone.evals"
    label = "evals"

    def ready(self) -> None:
        # Spans of experiments are noted in the transaction that stores them. Services want the
        # models, which are not there before this is called.
        taps = import_string("hone.traces.services.taps.span_taps")
        taps[ID] = import_string("hone.evals.services.noting.experiments_note")
