import os

SECRET_KEY = "of a test"
INSTALLED_APPS = ["project"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": {
    "ENGINE": f"django.db.backends.{'postgresql' if os.environ['DB_SERVER'] == 'postgres' else 'mysql'}",
    "HOST": os.environ["DB_HOST"], "PORT": os.environ["DB_PORT"], "NAME": os.environ["DB_NAME"], "USER": os.environ["DB_USER"]}}
