"""Robustness: changes of a segmentation by small changes of the text."""
