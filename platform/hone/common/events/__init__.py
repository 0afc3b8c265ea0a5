"""Tell what happened, after commit, to every process that listens.

`publish` sends a kind and a payload to the listeners of a project; `durable=True` also keeps it as
a row with a gapless sequence number, so that whoever missed the message reads it again.
"""

from hone.common.events.hub import subscribe
from hone.common.events.publish import KEEP, Told, forget, latest_seq, prune, publish, since

__all__ = ["KEEP", "Told", "forget", "latest_seq", "prune", "publish", "since", "subscribe"]
