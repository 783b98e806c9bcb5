"""Plain Python reference implementations, against which the kernels are tested."""
