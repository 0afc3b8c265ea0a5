"""All prompts as a zip of Markdown files, out and in."""

import io
import zipfile
from dataclasses import asdict
from typing import Any, Final

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from hone.accounts.api.access import ProjectView
from hone.accounts.core.roles import Role
from hone.common.errors import InvalidError
from hone.common.public import flag_of
from hone.prompts.api import serializers
from hone.prompts.core.files import MAX_BYTES, SUFFIX
from hone.prompts.core.names import LATEST
from hone.prompts.services import Author
from hone.prompts.services.files import prompts_from_files, prompts_to_files

MAX_FILES: Final = 5000
MAX_TOTAL: Final = 64 * 2**20  # bytes of all files unpacked
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the same prompts make the same zip


class ZipParser(BaseParser):
    """The body's bytes."""

    media_type = "application/zip"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        return stream.read()


class PromptFiles(ProjectView):
    """Every prompt as `NAME.md`, its text with YAML in front, as Git likes it."""

    parser_classes = (ZipParser,)

    @extend_schema(
        responses={(200, "application/zip"): OpenApiTypes.BINARY},
        parameters=[
            OpenApiParameter("label", str, description="Its version where there is one; latest")
        ],
    )
    def get(self, request: Request, project: str) -> HttpResponse:
        label = request.query_params.get("label") or LATEST
        data = zipped(prompts_to_files(self.access.project, label=label))
        answer = HttpResponse(data, content_type="application/zip")
        answer["content-disposition"] = f'attachment; filename="{project}-prompts.zip"'
        return answer

    @extend_schema(
        request={"application/zip": OpenApiTypes.BINARY},
        responses=serializers.PushedFiles,
        parameters=[
            OpenApiParameter("force", bool, description="Write over versions made since"),
            OpenApiParameter(
                "dry_run", bool, description="Tell what would be done, and do nothing"
            ),
            OpenApiParameter("message", str, description="What changed, of all new versions"),
        ],
    )
    def post(self, request: Request, project: str) -> Response:
        params = request.query_params
        role = self.access.role
        author = Author(self.access.author_name, self.access.user, is_admin=role.covers(Role.ADMIN))
        pushed = prompts_from_files(
            project=self.access.project,
            author=author,
            files=unzipped(request.data),
            force=flag_of(params, "force") is True,
            dry_run=flag_of(params, "dry_run") is True,
            message=params.get("message", ""),
        )
        return Response({"files": [asdict(one) for one in pushed]})


def zipped(files: dict[str, str]) -> bytes:
    """The files in one zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(path, _EPOCH), text.encode())
    return buffer.getvalue()


def unzipped(data: Any) -> dict[str, str]:
    """Path to text of the Markdown files in a zip; raises InvalidError."""
    if not isinstance(data, bytes) or not data:
        raise InvalidError("body: want a zip of Markdown files", field="body")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = [i for i in archive.infolist() if i.filename.endswith(SUFFIX)]
            if len(infos) > MAX_FILES or sum(info.file_size for info in infos) > MAX_TOTAL:
                raise InvalidError(
                    f"body: want at most {MAX_FILES} files and {MAX_TOTAL} bytes", field="body"
                )
            return {info.filename: _text(archive, info) for info in infos}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError) as error:
        raise InvalidError(f"body: this zip cannot be read: {error}", field="body") from None


def _text(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    with archive.open(info) as file:
        data = file.read(MAX_BYTES + 1)  # whatever size the zip says it has
    if len(data) > MAX_BYTES:
        raise InvalidError(f"{info.filename}: more than {MAX_BYTES} bytes", field=info.filename)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidError(f"{info.filename}: no UTF-8: {error.reason}", field="body") from None
