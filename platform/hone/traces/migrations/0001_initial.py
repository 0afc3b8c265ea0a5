from django.db import migrations

CREATE = """
-- Numbers every change of a trace, so that a reader that missed some finds them (services/marks).
CREATE SEQUENCE traces_seq;
SELECT nextval('traces_seq');  -- from now on last_value is a number that is taken

-- One row a trace, maintained in the transaction that writes its observations and computable from
-- them at any time (core/summary). The *_key columns say how a chosen value was preferred.
CREATE TABLE traces_trace (
    project_id bigint NOT NULL,
    trace_id bytea NOT NULL,
    seq bigint NOT NULL DEFAULT nextval('traces_seq'),
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL,
    latest_start_at timestamptz NOT NULL,
    first_token_at timestamptz,
    name_key bytea NOT NULL,
    name text NOT NULL,
    input_key bytea,
    input_preview text,
    output_key bytea,
    output_preview text,
    user_id text,
    session_id text,
    environment text,
    release text,
    version text,
    models text[] NOT NULL,
    tags text[] NOT NULL,
    prompts text[] NOT NULL,
    observation_count bigint NOT NULL,
    error_count bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    total_tokens bigint NOT NULL,
    decode_tokens bigint NOT NULL,
    decode_us bigint NOT NULL,
    cost numeric,
    unpriced_count bigint NOT NULL,
    CONSTRAINT traces_trace_pk PRIMARY KEY (project_id, trace_id),
    CONSTRAINT traces_trace_times CHECK (started_at <= latest_start_at AND started_at <= ended_at),
    CONSTRAINT traces_trace_counts CHECK (observation_count > 0 AND error_count >= 0)
);
CREATE INDEX traces_trace_started ON traces_trace (project_id, started_at DESC, trace_id DESC)
    INCLUDE (error_count);
CREATE INDEX traces_trace_seq ON traces_trace (project_id, seq);
CREATE INDEX traces_trace_session ON traces_trace (project_id, session_id, started_at DESC)
    WHERE session_id IS NOT NULL;
CREATE INDEX traces_trace_user ON traces_trace (project_id, user_id, started_at DESC)
    WHERE user_id IS NOT NULL;
CREATE INDEX traces_trace_errors ON traces_trace (project_id, started_at DESC, trace_id DESC)
    WHERE error_count > 0;

-- Partitions are made by services/partitions before anything is written; a row outside of all of
-- them is an error, never a row in some default. Payloads are text, not jsonb: what was sent is
-- what is kept, to the byte, and it costs half. Prompts, sessions and users are named by soft
-- references, because telemetry comes late and out of order.
CREATE TABLE traces_observation (
    project_id bigint NOT NULL,
    start_time timestamptz NOT NULL,
    end_time timestamptz NOT NULL,
    seq bigint NOT NULL,
    first_token_at timestamptz,
    input_tokens bigint,
    output_tokens bigint,
    total_tokens bigint,
    trace_id bytea NOT NULL,
    span_id bytea NOT NULL,
    parent_span_id bytea,
    type text NOT NULL,
    level text NOT NULL,
    status text NOT NULL,
    status_message text,
    name text NOT NULL,
    trace_name text,
    model text,
    model_parameters text,
    input text,
    output text,
    metadata text,
    attributes text,
    events text,
    usage text,
    cost numeric,
    cost_details text,
    prompt_name text,
    prompt_version text,
    session_id text,
    user_id text,
    environment text,
    release text,
    version text,
    tags text,
    scope text,
    CONSTRAINT traces_observation_pk PRIMARY KEY (project_id, trace_id, span_id, start_time),
    CONSTRAINT traces_observation_times CHECK (start_time <= end_time)
) PARTITION BY RANGE (start_time);
-- No index on start_time: beside the partitions' bounds it would only tempt the planner away from
-- the primary key, by which every read of today goes.
CREATE INDEX traces_observation_seq ON traces_observation USING brin (seq);
"""

DROP = """
DROP TABLE traces_observation;
DROP TABLE traces_trace;
DROP SEQUENCE traces_seq;
"""


class Migration(migrations.Migration):
    initial = True
    dependencies: list[tuple[str, str]] = []
    operations = [migrations.RunSQL(CREATE, DROP)]
