"""Figures of the report, one module each; every function returns a figure and writes nothing."""
