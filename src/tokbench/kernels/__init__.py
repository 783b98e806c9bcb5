"""Cython kernels, with their threads, flat arrays and exact sums."""
