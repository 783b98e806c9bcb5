"""Tidy tables that ``tokbench tabulate`` builds from result files; each is declared in the module of its maker."""
