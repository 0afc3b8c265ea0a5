"""What the endpoints below /api/public share: the shapes that Langfuse's clients enforce."""

from hone.common.public.params import (
    PageQuery,
    comma_list,
    flag_of,
    moment_of,
    number_of,
    page_query,
    repeated,
)
from hone.common.public.shapes import cursor_body, error_body, page_body, stamp

__all__ = [
    "PageQuery",
    "comma_list",
    "cursor_body",
    "error_body",
    "flag_of",
    "moment_of",
    "number_of",
    "page_body",
    "page_query",
    "repeated",
    "stamp",
]
