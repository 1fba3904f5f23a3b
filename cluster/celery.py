"""The Celery application. Not in `cluster/__init__.py`: the pure core loads without a framework."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cluster.settings")

app = Celery("lockstep")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
