"""Builds the Cython kernels, on all cores; everything else about the package is in pyproject.toml.

What Cython makes for every module alike, typed memoryviews above all, is compiled once and shared by the others: most
of a kernel's C was that. Kernels cannot be pickled, whose code was most of the rest. What is compiled for the tree
itself is kept in ``build/kernels``, so that only what changed, or includes what did, is compiled again.

``TOKBENCH_SANITIZE=1`` builds them for ``make sanitize``: every access to memory, every index of a vector and what C
leaves undefined are checked, and the first mistake ends the process.
"""

import json
import os
import runpy
import shutil
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

CORES = os.cpu_count() or 1
KERNELS = Path("src/tokbench/kernels")
SHARED = "tokbench.kernels._shared"
FLAGS = KERNELS / "flags.json"
"""The compiler's options, which count with every kernel: ``inner`` for kernels, ``once_a_call`` for what they share,
which takes the compiler longest and runs where a kernel is called. No multiplication is fused with an addition, which
would round once where other machines round twice."""
PORTABLE = "-ffp-contract=off"
STANDARD = "-std=gnu++17"
"""The default of GCC; Clang on macOS has an older one."""
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
CHECKED = [*SANITIZERS, PORTABLE, "-O1", "-g", "-fno-wrapv", "-fno-omit-frame-pointer", "-D_GLIBCXX_ASSERTIONS"]


class BuildInPlace(build_ext):
    """Keeps what it compiles for the tree itself, where an editable installation would begin anew in a folder of its
    own."""

    def finalize_options(self) -> None:
        if self.inplace or self.editable_mode:
            self.build_lib = self.build_temp = "build/kernels"
        super().finalize_options()

    def build_extension(self, ext: Extension) -> None:
        """Compile a kernel, or take it from the tree where it has been compiled since its sources changed."""
        built = Path(*ext.name.split(".")).parent / Path(self.get_ext_filename(ext.name)).name
        kept = Path("src") / built
        sources = [*ext.sources, *ext.depends]
        current = kept.is_file() and all(Path(file).stat().st_mtime <= kept.stat().st_mtime for file in sources)
        if self.inplace or self.editable_mode or os.environ.get("TOKBENCH_SANITIZE") or not current:
            super().build_extension(ext)
        else:
            self.mkpath(str(Path(self.build_lib) / built.parent))
            self.copy_file(str(kept), str(Path(self.build_lib) / built))


class BuildAnew(build_py):
    """Begins with nothing, where an older build may hold files that are no more."""

    def run(self) -> None:
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


def extensions() -> list[Extension]:
    """The kernels in C, those first that take the compiler longest."""
    sanitize = bool(os.environ.get("TOKBENCH_SANITIZE"))
    options = {"extra_link_args": SANITIZERS if sanitize else [], "depends": ["setup.py", str(FLAGS)]}
    flags = dict.fromkeys(("inner", "once_a_call"), CHECKED) if sanitize else json.loads(FLAGS.read_text())
    written = [path for path in KERNELS.glob("*.c*") if path.suffix in {".c", ".cpp"}]
    changed = max(file.stat().st_mtime for file in (Path("setup.py"), FLAGS))
    kernels = cythonize(
        [
            Extension(
                SHARED,
                [f"{KERNELS}/_shared.c"],
                extra_compile_args=flags["once_a_call"],
                **options,
            ),
            Extension(
                "tokbench.kernels.*",
                [f"{KERNELS}/*.pyx"],
                extra_compile_args=flags["inner"],
                **options,
            ),
        ],
        language_level=3,
        nthreads=CORES,
        force=any(path.stat().st_mtime < changed for path in written),
        shared_utility_qualified_name=SHARED,
        compiler_directives={"auto_pickle": False, "annotation_typing": False},
    )
    for kernel in kernels:
        if kernel.language == "c++":
            kernel.extra_compile_args = [*kernel.extra_compile_args, STANDARD]
    return sorted(kernels, key=lambda kernel: -max(Path(source).stat().st_size for source in kernel.sources))


if __name__ == "__main__":
    runpy.run_path("tools/make_stubs.py", run_name="__main__")
    setup(
        ext_modules=extensions(),
        cmdclass={"build_ext": BuildInPlace, "build_py": BuildAnew},
        options={"build_ext": {"parallel": CORES}},
    )
