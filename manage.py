#!/usr/bin/env python
"""Lockstep's command line."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cluster.settings")
    if sys.argv[1:2] == ["up"]:
        # `up` serves this machine only, whichever database it uses: plain HTTP on the loopback address.
        os.environ.setdefault("LOCKSTEP_LOCAL", "1")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
    except ImportError as error:
        raise SystemExit(
            f"{error}. Run `make up` or `make test` once: they create .venv and install what is locked; "
            "then use .venv/bin/python manage.py."
        ) from error
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        raise SystemExit(f"Lockstep is not configured: {error}") from error


if __name__ == "__main__":
    main()
