from shop.settings import *  # noqa: F403

INSTALLED_APPS = ["variants"]
