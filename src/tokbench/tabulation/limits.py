"""Limits of comparisons, figures and printed tables if there are many variants."""

MAX_PAIRWISE_VARIANTS = 64
"""Most variants at which every pair is compared; the number of pairs grows with their square."""
MAX_DRAWN = 20
"""Variants shown in a figure if there are more than ``MAX_PAIRWISE_VARIANTS``: the best, and the baseline."""
MAX_PRINTED = 100
"""Rows of a table by variant on the page if there are more variants than that; its files have all rows."""
