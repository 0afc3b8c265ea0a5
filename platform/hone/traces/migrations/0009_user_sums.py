from django.db import migrations

# The list of users adds up every trace of each: from the index alone it takes a tenth of the time.
# 30 bytes a trace. Not made concurrently: a backup is restored in one transaction.
CREATE = """
CREATE INDEX traces_trace_user_sums
    ON traces_trace (project_id, user_id, started_at DESC)
    INCLUDE (session_id, observation_count, error_count, total_tokens, cost, unpriced_count)
    WHERE user_id IS NOT NULL
"""
BEFORE = """
CREATE INDEX traces_trace_user ON traces_trace (project_id, user_id, started_at DESC)
    WHERE user_id IS NOT NULL
"""


class Migration(migrations.Migration):
    dependencies = [("traces", "0008_echoes")]
    operations = [
        migrations.RunSQL(CREATE, "DROP INDEX traces_trace_user_sums"),
        migrations.RunSQL("DROP INDEX traces_trace_user", BEFORE),
    ]
