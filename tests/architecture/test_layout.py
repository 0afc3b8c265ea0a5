import platform
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_platform_is_the_standard_librarys() -> None:
    assert Path(platform.__file__).is_relative_to(sysconfig.get_path("stdlib"))


def test_nothing_makes_a_package_of_a_folder_called_platform() -> None:
    assert not [
        p for g in ("platform/*.py", "inference/*.py", "tests/**/__init__.py") for p in ROOT.glob(g)
    ]


def test_no_source_folder_shadows_the_standard_library() -> None:
    roots = [
        p
        for d in (ROOT, ROOT / "platform", ROOT / "inference")
        for p in d.iterdir()
        if (p / "__init__.py").exists()
    ]
    assert not {p.name for p in roots} & sys.stdlib_module_names
