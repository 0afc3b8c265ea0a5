from django.db import migrations

# Observations of our gateway whose call the client may tell of too (core/echo). `caller` is the
# client's span. A batch looks here for each trace that it touches, so nothing else is in it.
CREATE = """
CREATE TABLE traces_echo (
    project_id bigint NOT NULL,
    trace_id bytea NOT NULL,
    span_id bytea NOT NULL,
    caller bytea NOT NULL,
    CONSTRAINT traces_echo_pk PRIMARY KEY (project_id, trace_id, span_id)
);
"""


class Migration(migrations.Migration):
    dependencies = [("traces", "0007_compression")]
    operations = [migrations.RunSQL(CREATE, "DROP TABLE traces_echo")]
