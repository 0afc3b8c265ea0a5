"""Prompts by the parameters of the public API."""

from collections.abc import Mapping

from django.db.models import Prefetch, Q, QuerySet

from hone.common.conditions import Column, conditions_of, conditions_sql
from hone.common.public import moment_of
from hone.prompts.models import Label, Prompt, PromptVersion

_FILTER_COLUMNS = {
    "name": Column("prompts_prompt.name"),
    "createdAt": Column("prompts_prompt.created_at", "time"),
    "updatedAt": Column("prompts_prompt.updated_at", "time"),
    "tags": Column("ARRAY(SELECT jsonb_array_elements_text(prompts_prompt.tags))", "array"),
    "labels": Column(
        "ARRAY(SELECT l.name FROM prompts_label l WHERE l.prompt_id = prompts_prompt.id)",
        "array",
    ),
}


def prompts_public(project_id: int, params: Mapping[str, str]) -> QuerySet[Prompt, Prompt]:
    """Prompts by the parameters of the public list, in order of name; raises InvalidError."""
    condition = Q(project_id=project_id)
    if name := params.get("name"):
        condition &= Q(name=name)
    if label := params.get("label"):
        condition &= Q(labels__name=label)
    if tag := params.get("tag"):
        condition &= Q(tags__contains=[tag])
    if since := moment_of(params, "fromUpdatedAt"):
        condition &= Q(updated_at__gte=since)
    if until := moment_of(params, "toUpdatedAt"):
        condition &= Q(updated_at__lt=until)
    clause, values = conditions_sql(conditions_of(params.get("filter")), _FILTER_COLUMNS)
    numbers = PromptVersion.objects.only("number", "prompt_id")
    return (
        Prompt.objects.filter(condition)
        .extra(where=[clause], params=values)
        .prefetch_related(
            Prefetch("versions", numbers),
            Prefetch("labels", Label.objects.select_related("version")),
        )
        .order_by("name")
    )


def versions_of(prompt: Prompt, *, number: int | None, label: str | None) -> list[int]:
    """The numbers of the prompt's versions, those of one number and with one label only."""
    rows = PromptVersion.objects.filter(prompt=prompt)
    if number is not None:
        rows = rows.filter(number=number)
    if label is not None:
        rows = rows.filter(labels__name=label)
    return list(rows.values_list("number", flat=True))
