from django.db import migrations

from hone.common.indexing import CreateIndex

# Only calls that name a prompt are in it, so other spans cost nothing; what selectors/measures sums
# up is included, so that a hundred thousand calls are read without touching their rows.
DEFINITION = """
    (project_id, prompt_name, prompt_version, start_time DESC)
    INCLUDE (end_time, status, input_tokens, output_tokens, total_tokens, cost, trace_id, span_id)
    WHERE prompt_name IS NOT NULL
"""


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("prompts", "0005_reviews"), ("traces", "0007_compression")]
    operations = [CreateIndex("traces_observation_prompt", "traces_observation", DEFINITION)]
