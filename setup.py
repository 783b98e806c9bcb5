"""Builds the Cython kernels, on all cores; everything else about the package is in pyproject.toml.

``TOKBENCH_SANITIZE=1`` builds them for ``make sanitize``: every access to memory, every index of a vector and what C
leaves undefined are checked, and the first mistake ends the process.
"""

import os

from Cython.Build import cythonize
from setuptools import Extension, setup

CORES = os.cpu_count() or 1
PORTABLE = "-ffp-contract=off"
"""No multiplication is fused with an addition, which would round once where other machines round twice."""
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
CHECKED = [*SANITIZERS, PORTABLE, "-O1", "-g", "-fno-wrapv", "-fno-omit-frame-pointer", "-D_GLIBCXX_ASSERTIONS"]

if __name__ == "__main__":
    kernels = cythonize(
        [Extension("tokbench.kernels.*", ["src/tokbench/kernels/*.pyx"], extra_compile_args=["-O3", PORTABLE])],
        language_level=3,
        nthreads=CORES,
    )
    if os.environ.get("TOKBENCH_SANITIZE"):
        for kernel in kernels:
            kernel.extra_compile_args, kernel.extra_link_args = CHECKED, SANITIZERS
    setup(
        ext_modules=kernels,
        options={"build_ext": {"parallel": CORES}},
    )
