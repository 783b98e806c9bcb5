"""Builds the Cython kernels, on all cores; everything else about the package is in pyproject.toml."""

import os

from Cython.Build import cythonize
from setuptools import Extension, setup

CORES = os.cpu_count() or 1

if __name__ == "__main__":
    setup(
        ext_modules=cythonize(
            [Extension("tokbench.kernels.*", ["src/tokbench/kernels/*.pyx"], extra_compile_args=["-O3"])],
            language_level=3,
            nthreads=CORES,
        ),
        options={"build_ext": {"parallel": CORES}},
    )
