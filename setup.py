"""Builds the Cython kernels, on all cores; everything else about the package is in pyproject.toml."""

import os

from Cython.Build import cythonize
from setuptools import Extension, setup

CORES = os.cpu_count() or 1
ARGUMENTS = ["-O3", "-ffp-contract=off"]
"""No multiplication is fused with an addition, which would round once where other machines round twice."""

if __name__ == "__main__":
    setup(
        ext_modules=cythonize(
            [Extension("tokbench.kernels.*", ["src/tokbench/kernels/*.pyx"], extra_compile_args=ARGUMENTS)],
            language_level=3,
            nthreads=CORES,
        ),
        options={"build_ext": {"parallel": CORES}},
    )
