"""Evaluation of language models with lm-eval: suites, tasks, bits per byte, segmentations."""
