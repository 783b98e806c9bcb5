"""Tests, estimates with intervals, and verdicts: one rule for every comparison."""
