"""From a finished span to Hone: bounded queue, one thread, retries, a count of losses."""

from hone.sdk.delivery.courier import Courier, Stats

__all__ = ["Courier", "Stats"]
