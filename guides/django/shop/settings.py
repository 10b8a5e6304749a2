from os import environ

INSTALLED_APPS = ["shop"]

DATABASES = {
    "default": {
        "ENGINE": f"django.db.backends.{'postgresql' if environ['GUIDE_SERVER'] == 'postgres' else 'mysql'}",
        "HOST": environ["DB_HOST"],
        "PORT": environ["DB_PORT"],
        "NAME": environ["DB_NAME"],
        "USER": environ["DB_USER"],
        "PASSWORD": environ["DB_PASSWORD"],
    }
}

# The default from Django 6 on.
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TIME_ZONE = "Asia/Seoul"
# On MySQL and MariaDB the outbox keeps UTC. With False, Django would write the times of TIME_ZONE there.
USE_TZ = True

# Where the messages go.
RECEIVER = environ["TARGET"]
