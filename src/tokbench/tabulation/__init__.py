"""The tidy tables that ``tokbench tabulate`` gathers from what the stages wrote, each declared beside its maker."""
