"""Which Yjs clients wrote what an update says."""

from pycrdt import get_state

from hone.collab.core.frames import Reader


def clients_of(update: bytes) -> list[int]:
    """The clients whose insertions an update holds; deletions name nobody."""
    reader = Reader(get_state(update))
    clients = []
    for _ in range(reader.number()):
        clients.append(reader.number())
        reader.number()  # how far that client has written
    return clients
