from typing import Any

from django.core.management.base import BaseCommand

from cluster.selectors.doctor import Report, State, examine

_MARKS = {State.OK: "ok     ", State.WARNING: "warning", State.BROKEN: "BROKEN "}


class Command(BaseCommand):
    help = (
        "Says which mode runs, its limits, what is missing and the mend; exit code 1 if something is broken."
    )
    requires_system_checks: list[str] = []

    def handle(self, **options: Any) -> None:
        report = examine()
        self._print(report)
        if report.is_broken:
            raise SystemExit(1)

    def _print(self, report: Report) -> None:
        styles = {
            State.OK: self.style.SUCCESS,
            State.WARNING: self.style.WARNING,
            State.BROKEN: self.style.ERROR,
        }
        self.stdout.write(f"Lockstep in {report.mode} mode\n")
        for finding in report.findings:
            mark = styles[finding.state](_MARKS[finding.state])
            self.stdout.write(f"  {mark}  {finding.subject:<15} {finding.says}")
            if finding.mend:
                self.stdout.write(f"{'':>27}Mend: {finding.mend}")
        self.stdout.write("\nLimits of this mode")
        for limit in report.limits:
            self.stdout.write(f"  {limit}")
