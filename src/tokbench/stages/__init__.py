"""Declarations of the stages of the workflow, by subject, see :mod:`tokbench.stage`."""
