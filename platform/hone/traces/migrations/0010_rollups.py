from django.db import migrations

CREATE = """
-- Figures of observations by hour (services/rollups), kept some seconds behind by a job. What a
-- value is missing is ''; n counts observations, the other counts those that have the value.
CREATE TABLE traces_rollup_state (
    id smallint NOT NULL PRIMARY KEY CHECK (id = 1),
    rolled_seq bigint NOT NULL
);
CREATE TABLE traces_rollup (
    project_id bigint NOT NULL,
    slot timestamptz NOT NULL,
    type text NOT NULL,
    level text NOT NULL,
    model text NOT NULL,
    environment text NOT NULL,
    n bigint NOT NULL,
    latency_us numeric NOT NULL,
    n_input bigint NOT NULL,
    input_tokens numeric NOT NULL,
    n_output bigint NOT NULL,
    output_tokens numeric NOT NULL,
    n_total bigint NOT NULL,
    total_tokens numeric NOT NULL,
    n_cost bigint NOT NULL,
    cost numeric NOT NULL,
    PRIMARY KEY (project_id, slot, type, level, model, environment)
);
-- How many took how long: bucket b holds from 1.04^b microseconds on.
CREATE TABLE traces_rollup_latency (
    project_id bigint NOT NULL,
    slot timestamptz NOT NULL,
    type text NOT NULL,
    model text NOT NULL,
    bucket smallint NOT NULL,
    n bigint NOT NULL,
    PRIMARY KEY (project_id, slot, type, model, bucket)
);
-- What was deleted or changed in place since: to be taken from the figures (sign -1) or added (1)
-- where its number had been taken into them.
CREATE TABLE traces_rollup_fix (
    project_id bigint NOT NULL,
    seq bigint NOT NULL,
    sign smallint NOT NULL,
    start_time timestamptz NOT NULL,
    end_time timestamptz NOT NULL,
    type text NOT NULL,
    level text NOT NULL,
    model text,
    environment text,
    input_tokens bigint,
    output_tokens bigint,
    total_tokens bigint,
    cost numeric
);
CREATE FUNCTION traces_rollup_mark() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO traces_rollup_fix
    SELECT project_id, seq, -1, start_time, end_time, type, level, model, environment,
        input_tokens, output_tokens, total_tokens, cost
    FROM gone WHERE scope IS DISTINCT FROM 'langfuse.trace';
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO traces_rollup_fix
        SELECT project_id, seq, 1, start_time, end_time, type, level, model, environment,
            input_tokens, output_tokens, total_tokens, cost
        FROM come WHERE scope IS DISTINCT FROM 'langfuse.trace';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER traces_rollup_deleted AFTER DELETE ON traces_observation
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION traces_rollup_mark();
CREATE TRIGGER traces_rollup_updated AFTER UPDATE ON traces_observation
    REFERENCING OLD TABLE AS gone NEW TABLE AS come
    FOR EACH STATEMENT EXECUTE FUNCTION traces_rollup_mark();
"""

DROP = """
DROP TRIGGER traces_rollup_updated ON traces_observation;
DROP TRIGGER traces_rollup_deleted ON traces_observation;
DROP FUNCTION traces_rollup_mark;
DROP TABLE traces_rollup, traces_rollup_latency, traces_rollup_fix, traces_rollup_state;
"""


class Migration(migrations.Migration):
    dependencies = [("traces", "0009_user_sums")]
    operations = [migrations.RunSQL(CREATE, DROP)]
