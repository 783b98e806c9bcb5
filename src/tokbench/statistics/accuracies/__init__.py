"""Accuracies of cells: means over seeds, ranks, tests of variants, and correlations."""
