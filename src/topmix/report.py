"""The report, one HTML page that shows a fitted model: `topmix.report.write_report(model, "report.html", corpus)`."""

from topmix.apps.report import write_report

__all__ = ["write_report"]
