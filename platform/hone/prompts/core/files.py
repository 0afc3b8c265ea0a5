"""A prompt as one file of Markdown with YAML in front, made to be read and merged in Git.

The text stands as it is. In a chat each message follows a line `<!-- message {"role": "user"} -->`,
which holds in JSON whatever else the message has; a line of a text that looks like one gets a
backslash in front. A file that is read back gives the same prompt, to the byte.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import yaml

from hone.common.errors import InvalidError
from hone.prompts.core.content import CHAT, TEXT
from hone.prompts.core.template import Template

SUFFIX: Final = ".md"
MAX_BYTES: Final = 4 * 2**20
_FENCE: Final = "---\n"
_HEAD: Final = re.compile(r"^<!-- message (\{.*\}) -->$", re.MULTILINE)
_LIKE_HEAD: Final = re.compile(r"^(\\*)(?=<!-- message )", re.MULTILINE)
_ESCAPED: Final = re.compile(r"^\\(\\*)(?=<!-- message )", re.MULTILINE)
_SAFE: Final = re.compile(r"[^\w .+()=,-]")
_FIELDS: Final = {
    "name": str, "type": str, "version": int, "description": str, "tags": list, "labels": list,
    "config": dict, "variables": dict,
}  # fmt: skip


class _Loader(yaml.SafeLoader):
    """YAML without anchors, by which a small file becomes a huge value."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("anchors are not taken here")
        return super().compose_node(parent, index)


class _Dumper(yaml.SafeDumper):
    """YAML in which texts with rare characters are quoted so that none is lost."""


def _quoted(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    is_plain = text.replace("\n", "").isprintable()
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, None if is_plain else '"')


_Dumper.add_representer(str, _quoted)


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A version of a prompt as a file says it; `version` is the one that the file was made of."""

    name: str
    type: str
    prompt: Template
    config: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    description: str = ""
    version: int | None = None


def path_of(name: str) -> str:
    """Where the prompt's file stands below the folder; what file systems dislike is encoded."""
    parts = [
        _SAFE.sub(lambda m: "".join(f"%{b:02X}" for b in m[0].encode()), p) for p in name.split("/")
    ]
    return "/".join(f"%2E{part[1:]}" if part.startswith(".") else part for part in parts) + SUFFIX


def file_text(file: PromptFile) -> str:
    """The file's text."""
    meta: dict[str, Any] = {"name": file.name, "type": file.type}
    optional = {
        "version": file.version,
        "labels": list(file.labels),
        "tags": list(file.tags),
        "description": file.description,
        "config": file.config,
        "variables": file.inputs,
    }
    meta |= {key: value for key, value in optional.items() if value}
    front = yaml.dump(meta, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return f"{_FENCE}{front}{_FENCE}{_body(file.prompt)}"


def _body(prompt: Template) -> str:
    if isinstance(prompt, str):
        return f"{prompt}\n"
    return "\n".join(_message(message) for message in prompt)


def _message(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        head = {key: value for key, value in message.items() if key != "content"}
        text = _LIKE_HEAD.sub(r"\\\1", content) + "\n"
    else:
        head, text = dict(message), ""
    return f"<!-- message {orjson.dumps(head).decode()} -->\n{text}"


def file_read(text: str, path: str) -> PromptFile:
    """The prompt in a file's text; raises InvalidError that names the file."""
    try:
        meta, body = _front(text)
        prompt = _messages(body) if meta.get("type", TEXT) == CHAT else body.removesuffix("\n")
        return PromptFile(
            name=meta.get("name") or path.removesuffix(SUFFIX),
            type=meta.get("type", TEXT),
            prompt=prompt,
            config=meta.get("config", {}),
            inputs=meta.get("variables", {}),
            labels=_words(meta, "labels"),
            tags=_words(meta, "tags"),
            description=meta.get("description", ""),
            version=meta.get("version"),
        )
    except (ValueError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())[:300]
        raise InvalidError(f"{path}: {said}", field=path) from None


def _front(text: str) -> tuple[dict[str, Any], str]:
    if len(text) > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES} characters")
    text = text.removeprefix("\ufeff")
    if text.startswith("---\r\n"):  # a checkout that changed all ends of lines
        text = text.replace("\r\n", "\n")
    front, found, body = text.removeprefix(_FENCE).partition(f"\n{_FENCE}")
    if not text.startswith(_FENCE) or not found:
        raise ValueError("want YAML between two lines of --- in front")
    meta = yaml.load(front, _Loader)
    if not isinstance(meta, dict):
        raise ValueError("the YAML in front is no mapping")
    for key, value in meta.items():
        kind = _FIELDS.get(key)
        if kind is None:
            raise ValueError(f"{key}: this field is not known; there are {', '.join(_FIELDS)}")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(f"{key}: want a {kind.__name__}, got {type(value).__name__}")
    return meta, body


def _words(meta: Mapping[str, Any], name: str) -> tuple[str, ...]:
    words = meta.get(name, [])
    if not all(isinstance(word, str) for word in words):
        raise ValueError(f"{name}: want texts")
    return tuple(words)


def _messages(body: str) -> list[dict[str, Any]]:
    heads = list(_HEAD.finditer(body))
    if not heads or body[: heads[0].start()].strip():
        raise ValueError('a chat begins with a line <!-- message {"role": "system"} -->')
    ends = [*(head.start() - 1 for head in heads[1:]), len(body)]
    messages = []
    for head, end in zip(heads, ends, strict=True):
        try:
            message = orjson.loads(head[1])
        except orjson.JSONDecodeError as error:
            raise ValueError(f"{head[0][:80]}: {error}") from None
        text = body[head.end() + 1 : end]
        is_whole = "content" in message or message.get("type") == "placeholder"
        if not is_whole and not (text == "" and "tool_calls" in message):
            message["content"] = _ESCAPED.sub(r"\1", text.removesuffix("\n"))
        messages.append(message)
    return messages
