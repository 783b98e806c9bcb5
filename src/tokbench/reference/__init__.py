"""Plain-Python twins of the kernels."""
