"""What goes wrong when weights are read or written."""


class FormatError(ValueError):
    """A checkpoint that cannot be read or written as asked.

    The message is one sentence that names the file, the tensor or key, what came and what was
    wanted.
    """
