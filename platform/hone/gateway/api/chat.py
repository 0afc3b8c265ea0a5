"""`POST /api/projects/{p}/chat/completions`: the same door for the signed-in interface."""

from collections.abc import AsyncIterator

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from rest_framework.request import Request

from hone.accounts.api.access import access_for
from hone.accounts.api.authentication import KeyAuthentication, SignedInAuthentication
from hone.accounts.core.roles import Role
from hone.accounts.selectors import Access
from hone.common.database import database_call
from hone.common.errors import HoneError, UnauthenticatedError
from hone.common.rest import JsonParser, as_hone_error, error_http, json_loads
from hone.gateway.services.calls import Reply
from hone.gateway.services.completions import completion_open


def _authorize(http: HttpRequest, project: str) -> Access:
    """The caller's access by session (with CSRF token) or key, as every endpoint of DRF has it."""
    # Checking the token looks into the form, for which DRF parses the body: it needs a parser.
    request = Request(
        http,
        parsers=[JsonParser()],
        authenticators=[KeyAuthentication(), SignedInAuthentication()],
    )
    if not request.user or not request.user.is_authenticated:
        raise UnauthenticatedError("Sign in, or send an API key")
    access = access_for(request, project)
    access.require(Role.MEMBER)
    return access


async def _content(reply: Reply) -> AsyncIterator[bytes]:
    try:
        assert reply.stream is not None
        async for data in reply.stream:
            yield data
    finally:
        await reply.close()


# DRF's authentication checks the token itself (a program with a key needs none).
@csrf_exempt
async def chat_completions(request: HttpRequest, project: str) -> HttpResponseBase:
    """The same body, stream and errors as /v1/chat/completions."""
    try:
        if request.method != "POST":
            return HttpResponse(status=405, headers={"Allow": "POST"})
        body = json_loads(request.body)
        access = await database_call(_authorize, request, project)
    except Exception as error:
        problem = error if isinstance(error, HoneError) else as_hone_error(error)
        if problem is None:
            raise
        return error_http(problem)
    headers = {name.lower(): value for name, value in request.headers.items()}
    if access.user is not None:
        headers.setdefault("x-hone-user", access.user.email)
    reply = await completion_open(access.project.pk, "chat", body, headers)
    if reply.stream is None:
        await reply.close()
        return HttpResponse(reply.body, status=reply.status, headers=reply.headers)
    return StreamingHttpResponse(_content(reply), status=reply.status, headers=reply.headers)
