from django.db import migrations

# What is known of each trace and observation that came as events (services/legacy_entities): later
# events add to it, and reads find the id as it was sent. `key` has 16 bytes for a trace, 8 for an
# observation; `trace_id` names the trace with which it is deleted.
CREATE = """
CREATE TABLE traces_legacy (
    project_id bigint NOT NULL,
    key bytea NOT NULL,
    trace_id bytea,
    external_id text NOT NULL,
    state text NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT traces_legacy_pk PRIMARY KEY (project_id, key)
);
CREATE INDEX traces_legacy_trace ON traces_legacy (project_id, trace_id);
CREATE INDEX traces_legacy_updated ON traces_legacy USING brin (updated_at);
"""


class Migration(migrations.Migration):
    dependencies = [("traces", "0002_scores_comments_media")]
    operations = [migrations.RunSQL(CREATE, "DROP TABLE traces_legacy")]
