from django.db import migrations

# Each change of a project's prompts moves its count (core/served_cache): whoever keeps what it read
# compares the count with the one it read along. The row stays locked until the writer commits, so
# the count and what it counts become visible together.
COUNT = """
CREATE FUNCTION prompts_count_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    project bigint;
BEGIN
    IF TG_TABLE_NAME = 'prompts_prompt' THEN
        project := CASE WHEN TG_OP = 'DELETE' THEN OLD.project_id ELSE NEW.project_id END;
    ELSE
        SELECT project_id INTO project FROM prompts_prompt
            WHERE id = CASE WHEN TG_OP = 'DELETE' THEN OLD.prompt_id ELSE NEW.prompt_id END;
    END IF;
    IF project IS NOT NULL THEN
        INSERT INTO prompts_change AS c (project_id, count) VALUES (project, 1)
            ON CONFLICT (project_id) DO UPDATE SET count = c.count + 1;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER prompts_prompt_counted AFTER INSERT OR UPDATE OR DELETE ON prompts_prompt
    FOR EACH ROW EXECUTE FUNCTION prompts_count_change();
CREATE TRIGGER prompts_version_counted AFTER INSERT OR DELETE ON prompts_promptversion
    FOR EACH ROW EXECUTE FUNCTION prompts_count_change();
CREATE TRIGGER prompts_label_counted AFTER INSERT OR UPDATE OR DELETE ON prompts_label
    FOR EACH ROW EXECUTE FUNCTION prompts_count_change();
CREATE TRIGGER prompts_arm_counted AFTER INSERT OR UPDATE OR DELETE ON prompts_labelarm
    FOR EACH ROW EXECUTE FUNCTION prompts_count_change();
"""
UNCOUNT = """
DROP TRIGGER prompts_prompt_counted ON prompts_prompt;
DROP TRIGGER prompts_version_counted ON prompts_promptversion;
DROP TRIGGER prompts_label_counted ON prompts_label;
DROP TRIGGER prompts_arm_counted ON prompts_labelarm;
DROP FUNCTION prompts_count_change();
"""
# An arm's version is one of its label's prompt, and what is declared of variables never changes.
CONSTRAINED = """
ALTER TABLE prompts_labelarm ADD CONSTRAINT prompts_arm_version_of_prompt
    FOREIGN KEY (version_id, prompt_id) REFERENCES prompts_promptversion (id, prompt_id)
    DEFERRABLE INITIALLY DEFERRED;
DROP TRIGGER prompts_version_immutable ON prompts_promptversion;
CREATE TRIGGER prompts_version_immutable
    BEFORE UPDATE OF prompt_id, number, type, content, config, variables, inputs, content_hash,
        created_at
    ON prompts_promptversion FOR EACH ROW EXECUTE FUNCTION prompts_version_is_immutable();
"""
LOOSE = """
ALTER TABLE prompts_labelarm DROP CONSTRAINT prompts_arm_version_of_prompt;
DROP TRIGGER prompts_version_immutable ON prompts_promptversion;
CREATE TRIGGER prompts_version_immutable
    BEFORE UPDATE OF prompt_id, number, type, content, config, variables, content_hash, created_at
    ON prompts_promptversion FOR EACH ROW EXECUTE FUNCTION prompts_version_is_immutable();
"""


class Migration(migrations.Migration):
    dependencies = [("prompts", "0003_splits")]

    operations = [
        migrations.RunSQL(COUNT, UNCOUNT),
        migrations.RunSQL(CONSTRAINED, LOOSE),
    ]
