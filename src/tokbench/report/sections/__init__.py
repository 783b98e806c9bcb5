"""Sections of a report, one module each: functions from `ReportContent` to a `Section` that write no files."""
