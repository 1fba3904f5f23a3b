"""Racks, blocks, pods, feeds and cooling."""

from django.apps import AppConfig


class FabricConfig(AppConfig):
    name = "fabric"
    default_auto_field = "django.db.models.BigAutoField"
