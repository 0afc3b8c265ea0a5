import pytest

from hone.common.errors import InvalidError
from hone.prompts.core.names import Reference, label_clean, name_clean, reference_parse, tags_clean


@pytest.mark.parametrize("name", ["a", "support/reply", "Größe 2", "a.b-c_d", "x" * 200])
def test_names(name: str) -> None:
    assert name_clean(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/a",
        "a/",
        "a//b",
        "a@b",
        "a/versions",
        "render",
        "../x",
        "a/./b",
        " a",
        "a\n",
        "x" * 201,
    ],
)
def test_names_that_would_make_no_address(name: str) -> None:
    with pytest.raises(InvalidError):
        name_clean(name)


@pytest.mark.parametrize("label", ["latest", "3", "", "Prod", "a b", "-x", "x" * 64])
def test_labels_that_cannot_be_set(label: str) -> None:
    with pytest.raises(InvalidError):
        label_clean(label)


@pytest.mark.parametrize("label", ["production", "v1.2", "3d", "a_b-c"])
def test_labels(label: str) -> None:
    assert label_clean(label) == label


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("hello", Reference("hello")),
        ("a/b@3", Reference("a/b", number=3)),
        ("a/b@production", Reference("a/b", label="production")),
    ],
)
def test_references(text: str, reference: Reference) -> None:
    assert reference_parse(text) == reference


@pytest.mark.parametrize("text", ["", "@3", "hello@", "hello@0", "hello@99999999999999"])
def test_references_that_lead_nowhere(text: str) -> None:
    with pytest.raises(InvalidError):
        reference_parse(text)


def test_tags_are_sorted_and_each_once() -> None:
    assert tags_clean(["b", "a", "b"]) == ["a", "b"]
    with pytest.raises(InvalidError):
        tags_clean([""])
