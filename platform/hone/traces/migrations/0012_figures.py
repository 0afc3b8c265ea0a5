from django.db import migrations

CREATE = """
-- Figures by hour of what is told by traces (services/figures, docs/adr/0039): a kind is a view,
-- or what daily figures count, with one dimension; `value` is that dimension's. An hour is counted
-- as a whole and anew when something of it changes. A job fills all this, also for what is there.
CREATE TABLE traces_figure_state (
    id smallint NOT NULL PRIMARY KEY CHECK (id = 1),
    noted_seq bigint NOT NULL
);
CREATE TABLE traces_figure (
    project_id bigint NOT NULL,
    kind text NOT NULL,
    slot timestamptz NOT NULL,
    value text,
    type text,
    model text,
    environment text,
    n bigint NOT NULL,
    observations bigint,
    latency_us numeric,
    n_input bigint,
    input_tokens numeric,
    n_output bigint,
    output_tokens numeric,
    n_total bigint,
    total_tokens numeric,
    n_cost bigint,
    cost numeric,
    buckets smallint[],  -- of latencies (core/rollup), each with how many
    counts bigint[]
);
CREATE INDEX traces_figure_kind ON traces_figure (project_id, kind, slot);
-- Where a kind has too many or too long values in an hour: that hour is read.
CREATE TABLE traces_figure_crowded (
    project_id bigint NOT NULL,
    slot timestamptz NOT NULL,
    kind text NOT NULL
);
CREATE INDEX traces_figure_crowded_slot ON traces_figure_crowded (project_id, slot);
-- Hours that changed since they were counted, or never were. Not unique: writers must not wait.
CREATE TABLE traces_figure_dirty (
    project_id bigint NOT NULL,
    slot timestamptz NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX traces_figure_dirty_slot ON traces_figure_dirty (project_id, slot);
CREATE FUNCTION traces_figure_mark() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO traces_figure_dirty (project_id, slot)
    SELECT DISTINCT project_id, date_bin('1 hour', start_time, 'epoch'::timestamptz) FROM gone;
    RETURN NULL;
END $$;
CREATE TRIGGER traces_figure_deleted AFTER DELETE ON traces_observation
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION traces_figure_mark();
CREATE TRIGGER traces_figure_updated AFTER UPDATE ON traces_observation
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION traces_figure_mark();
"""

DROP = """
DROP TRIGGER traces_figure_updated ON traces_observation;
DROP TRIGGER traces_figure_deleted ON traces_observation;
DROP FUNCTION traces_figure_mark;
DROP TABLE traces_figure, traces_figure_crowded, traces_figure_dirty, traces_figure_state;
"""


class Migration(migrations.Migration):
    dependencies = [("traces", "0011_erasures")]
    operations = [migrations.RunSQL(CREATE, DROP)]
