"""Statistical tests, estimates and their tables."""
