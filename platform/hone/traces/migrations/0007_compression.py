from django.db import migrations

# A row over 2 KB has its long values compressed, and kept beside it where they are still long. With
# lz4, where the server was built with it (the embedded one was not), that takes half of the time.
LZ4 = """
DO $$
DECLARE
    tables regclass[] := ARRAY['traces_observation'::regclass] || ARRAY(
        SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'traces_observation'::regclass
    );
    one regclass;
    name text;
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_settings s WHERE s.name = 'default_toast_compression' AND 'lz4' = ANY (s.enumvals)
    ) THEN
        RETURN;
    END IF;
    FOREACH one IN ARRAY tables LOOP
        FOREACH name IN ARRAY ARRAY['input', 'output', 'metadata', 'attributes', 'events'] LOOP
            EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET COMPRESSION lz4', one, name);
        END LOOP;
    END LOOP;
END
$$
"""


class Migration(migrations.Migration):
    dependencies = [("traces", "0006_saved_views")]
    operations = [migrations.RunSQL(LZ4, migrations.RunSQL.noop)]
