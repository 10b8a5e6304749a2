import os
import textwrap

from django.db import models

# The printed lines, in the class that they are for.
setting = open(os.environ["SETTING"]).read() or 'class Meta:\n    db_table = "outbox_new"'
exec("class Message(models.Model):\n    channel = models.CharField(max_length=64)\n" + textwrap.indent(setting, "    "))
