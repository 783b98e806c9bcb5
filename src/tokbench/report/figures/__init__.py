"""Figures of the report, one module each. Functions return a figure and write no files."""
