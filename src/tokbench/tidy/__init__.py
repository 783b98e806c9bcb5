"""Tidy tables: what one is, how those of a package are found, made of what their makers take, checked and written."""
