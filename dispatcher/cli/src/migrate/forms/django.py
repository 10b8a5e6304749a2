"""The outbox, from schema version {{from}} to {{to}}, for Django: APP/migrations/outbox_{{to}}.py

`makemigrations` looks at models only. One of these tables has to say so, then Django leaves it alone:

    class Meta:
        managed = False
        db_table = "outbox_new"
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [{{after}}]

    # A list, so that each statement is sent as it is. There is no way back: the outbox may hold messages that have not been
    # sent.
    operations = [
        migrations.RunSQL(
            [
{{statements}}
            ]
        )
    ]
