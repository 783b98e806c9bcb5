"""Comparisons of tokenizers, pair by pair, by each measure, and the scoreboard."""
