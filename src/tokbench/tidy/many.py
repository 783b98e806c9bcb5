"""How many variants are few: what is made of every pair of them, and what is drawn and printed of all."""

EVERY_PAIR_UP_TO = 64
"""Variants of which every pair is compared. Pairs grow with their square: a thousand have a million."""
DRAWN = 20
"""Of more variants than those, how many a figure shows: the best, and the baseline with them."""
PRINTED = 100
"""Of more variants than those, how many rows of a table by variant the page shows; its files have all."""
