from django.db import migrations

IMMUTABLE = """
CREATE FUNCTION prompts_version_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'version % of prompt % is immutable', OLD.number, OLD.prompt_id
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER prompts_version_immutable
    BEFORE UPDATE OF prompt_id, number, type, content, config, variables, content_hash, created_at
    ON prompts_promptversion FOR EACH ROW EXECUTE FUNCTION prompts_version_is_immutable();
"""
MUTABLE = """
DROP TRIGGER prompts_version_immutable ON prompts_promptversion;
DROP FUNCTION prompts_version_is_immutable();
"""
# A label and its version belong to the same prompt.
SAME_PROMPT = """
ALTER TABLE prompts_label ADD CONSTRAINT prompts_label_version_of_prompt
    FOREIGN KEY (version_id, prompt_id) REFERENCES prompts_promptversion (id, prompt_id)
    DEFERRABLE INITIALLY DEFERRED;
"""
ANY_PROMPT = "ALTER TABLE prompts_label DROP CONSTRAINT prompts_label_version_of_prompt;"


class Migration(migrations.Migration):
    dependencies = [("prompts", "0001_initial")]

    operations = [
        migrations.RunSQL(IMMUTABLE, MUTABLE),
        migrations.RunSQL(SAME_PROMPT, ANY_PROMPT),
    ]
