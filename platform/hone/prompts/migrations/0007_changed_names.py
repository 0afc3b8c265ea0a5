from importlib import import_module

from django.db import migrations, models

before = import_module("hone.prompts.migrations.0004_counted")

# Each statement that changes a project's prompts moves its count, and that of each name concerned
# (core/served_cache): whoever keeps what it read asks what changed since the count that it read
# along. The count's row stays locked until the writer commits, so a count and what it counts
# become visible together. A name stands as the first 8 bytes of its SHA-256: numbers only stay
# behind of a project that is erased. By statement, not by row: a restore copies in all rows of a
# table at once.
COUNT = """
CREATE FUNCTION prompts_mark(name text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT ('x' || encode(substring(sha256(convert_to(name, 'UTF8')) FROM 1 FOR 8), 'hex'))
        ::bit(64)::bigint
$$;
CREATE FUNCTION prompts_note(projects bigint[], names text[]) RETURNS void LANGUAGE sql AS $$
    WITH counted AS (
        INSERT INTO prompts_change AS c (project_id, count)
            SELECT project, 1 FROM unnest(projects) AS project GROUP BY project ORDER BY project
            ON CONFLICT (project_id) DO UPDATE SET count = c.count + 1
            RETURNING c.project_id, c.count)
    INSERT INTO prompts_changedname (project_id, mark, count)
        SELECT DISTINCT c.project_id, prompts_mark(n.name), c.count
            FROM unnest(projects, names) AS n (project, name)
            JOIN counted c ON c.project_id = n.project
        ON CONFLICT (project_id, mark) DO UPDATE SET count = EXCLUDED.count
$$;
CREATE FUNCTION prompts_prompt_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM prompts_note(array_agg(project_id), array_agg(name::text)) FROM came;
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM prompts_note(array_agg(project_id), array_agg(name::text)) FROM went;
    ELSE
        PERFORM prompts_note(array_agg(project_id), array_agg(name::text))
            FROM (SELECT project_id, name FROM went UNION SELECT project_id, name FROM came) AS n;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION prompts_part_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    prompts bigint[];
BEGIN
    IF TG_OP = 'INSERT' THEN
        prompts := ARRAY(SELECT DISTINCT prompt_id FROM came);
    ELSIF TG_OP = 'DELETE' THEN
        prompts := ARRAY(SELECT DISTINCT prompt_id FROM went);
    ELSE
        prompts := ARRAY(SELECT prompt_id FROM went UNION SELECT prompt_id FROM came);
    END IF;
    PERFORM prompts_note(array_agg(project_id), array_agg(name::text)) FROM prompts_prompt
        WHERE id = ANY (prompts);
    RETURN NULL;
END $$;
"""
UNCOUNT = """
DROP FUNCTION prompts_prompt_changed();
DROP FUNCTION prompts_part_changed();
DROP FUNCTION prompts_note(bigint[], text[]);
DROP FUNCTION prompts_mark(text);
"""
TABLES = ("prompt", "promptversion", "label", "labelarm")
SEEN = {
    "INSERT": "NEW TABLE AS came",
    "UPDATE": "NEW TABLE AS came OLD TABLE AS went",
    "DELETE": "OLD TABLE AS went",
}


def triggers() -> list[tuple[str, str]]:
    """Each trigger as what makes and what drops it; versions are never updated."""
    made = []
    for table in TABLES:
        function = "prompts_prompt_changed" if table == "prompt" else "prompts_part_changed"
        for event, rows in SEEN.items():
            if (table, event) == ("promptversion", "UPDATE"):
                continue
            name, on = f"prompts_{table}_{event.lower()}_noted", f"ON prompts_{table}"
            create = (
                f"CREATE TRIGGER {name} AFTER {event} {on} REFERENCING {rows}"
                f" FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
            )
            made.append((create, f"DROP TRIGGER {name} {on}"))
    return made


EPOCH = """
ALTER TABLE prompts_change ADD COLUMN epoch bigint NOT NULL
    DEFAULT (random() * 9007199254740991)::bigint
"""


class Migration(migrations.Migration):
    dependencies = [("prompts", "0006_measured")]

    operations = [
        migrations.RunSQL(
            EPOCH,
            "ALTER TABLE prompts_change DROP COLUMN epoch",
            state_operations=[
                migrations.AddField(
                    "change", "epoch", models.BigIntegerField(default=0), preserve_default=False
                )
            ],
        ),
        migrations.CreateModel(
            name="ChangedName",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("project_id", models.BigIntegerField()),
                ("mark", models.BigIntegerField()),
                ("count", models.BigIntegerField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["project_id", "count"], name="prompts_changed_count")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("project_id", "mark"), name="prompts_changed_once"
                    )
                ],
            },
        ),
        migrations.RunSQL(before.UNCOUNT, before.COUNT),
        migrations.RunSQL(COUNT, UNCOUNT),
        *(migrations.RunSQL(create, drop) for create, drop in triggers()),
    ]
