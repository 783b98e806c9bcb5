"""Inner loops in Cython, and the threads, flat arrays and exact sums that they use."""
