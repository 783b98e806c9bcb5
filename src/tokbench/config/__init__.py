"""Configuration: sections, checks, loading."""
