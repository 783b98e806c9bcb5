"""Example segmentations of a few sentences, for the report and for ``tokbench show``."""
