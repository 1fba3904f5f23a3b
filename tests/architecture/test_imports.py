"""Imports flow one way, and the core loads without a framework."""

import os
import subprocess
import sys
from pathlib import Path

from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[2]
PURE = ("cluster.scheduler", "tenancy.rules", "fleet.rules", "fabric.rules")
FRAMEWORKS = (
    "django",
    "rest_framework",
    "celery",
    "channels",
    "redis",
    "psycopg",
    "pydantic",
    "rich",
    "plotly",
)


def modules_of(package: str) -> list[str]:
    """Every module of a package, by file: importing the package alone would miss most of them."""
    folder = ROOT / package.replace(".", "/")
    files = [path.relative_to(ROOT).with_suffix("") for path in sorted(folder.rglob("*.py"))]
    return [".".join(file.parts).removesuffix(".__init__") for file in files]


def test_imports_obey_the_contracts(capsys):
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == 0, (
        capsys.readouterr().out
    )


def test_the_rules_load_without_a_framework():
    modules = [module for package in PURE for module in modules_of(package)]
    code = f"import sys, {', '.join(modules)}; print(sorted(set({FRAMEWORKS!r}) & set(sys.modules)))"
    clean = {key: value for key, value in os.environ.items() if key != "DJANGO_SETTINGS_MODULE"}
    shown = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT, env=clean)
    assert shown.strip() == "[]"


def test_the_package_of_the_project_stays_empty():
    assert (ROOT / "cluster/__init__.py").read_text() == ""
