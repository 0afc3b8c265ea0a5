"""Plain Python: the wire format of rooms, the shape of a shared document."""
