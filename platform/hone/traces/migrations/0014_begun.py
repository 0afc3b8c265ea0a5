from django.db import migrations

# Figures of traces by when they began (docs/adr/0046) are kept from now on: hours that are counted
# without them are to be counted anew, and are read until then.
RECOUNT = """
INSERT INTO traces_figure_dirty (project_id, slot)
SELECT project_id, date_bin('1 hour', slot, 'epoch'::timestamptz) FROM traces_figure
UNION SELECT project_id, slot FROM traces_figure_crowded
"""


class Migration(migrations.Migration):
    dependencies = [("traces", "0013_retention")]
    operations = [migrations.RunSQL(RECOUNT, migrations.RunSQL.noop)]
