"""How many variants are few: what is made of every pair of them, and what is drawn and printed of all."""

EVERY_PAIR_UP_TO = 64
"""Variants of which every pair is compared. Pairs grow with their square: a thousand have a million."""
