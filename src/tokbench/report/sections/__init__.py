"""The sections of a report, one module each: from `ReportContent` to a `Section`, nothing written."""
