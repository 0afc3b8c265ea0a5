"""Documentation is under test: what it names exists, and what exists is named."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = {"hone": ROOT / "platform", "hone_engine": ROOT / "inference"}
NAMES = sorted(
    set(re.findall(r"`((?:hone|hone_engine)\.[\w.]+)`", (ROOT / "docs" / "walks.md").read_text()))
)
READ_SETTING = re.compile(r"""["'$]\{?((?:HONE_[A-Z_]+|DATABASE_URL|REDIS_URL))["'}:-]""")


def module_of(dotted: str) -> tuple[Path, list[str]]:
    """The longest prefix of a dotted name that is a module, and what is left."""
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        base = SOURCES[parts[0]].joinpath(*parts[:end])
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.exists():
                return path, parts[end:]
    raise AssertionError(f"no module of {dotted} exists")


def defined(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """Names that a module or class body defines or imports."""
    names: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names[node.name] = node
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: node for alias in node.names}
        elif isinstance(node, ast.Assign):
            names |= {t.id: node for t in node.targets if isinstance(t, ast.Name)}
    return names


@pytest.mark.parametrize("name", NAMES)
def test_the_walks_name_what_exists(name: str) -> None:
    path, rest = module_of(name)
    body = ast.parse(path.read_text()).body
    for part in rest:
        found = defined(body).get(part)
        assert found is not None, f"{name}: {part} is not in {path.relative_to(ROOT)}"
        body = found.body if isinstance(found, ast.ClassDef) else []


def settings_read() -> set[str]:
    """Every setting that Hone's own code reads from the environment."""
    folders = [ROOT / "platform", ROOT / "inference", ROOT / "csrc", ROOT / "scripts"]
    found: set[str] = set()
    for folder in folders:
        for path in folder.rglob("*"):
            if path.suffix in (".py", ".cpp", ".hpp", ".sh") and "ui" not in path.parts:
                text = path.read_text()
                if "environ" in text or "getenv" in text or path.suffix == ".sh":
                    found |= set(READ_SETTING.findall(text))
    return found


def test_the_settings_page_names_what_is_read_and_no_more() -> None:
    documented = set(
        re.findall(r"^\| `([A-Z_]+)`", (ROOT / "docs" / "settings.md").read_text(), re.M)
    )
    assert settings_read() == documented
