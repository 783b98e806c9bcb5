"""The same bytes under any setting and on any processor: every construction, its measurements, tables and figures.

One run is the measure. Others change a setting each, in this process; two more change all that a process is born
with: the seed of hashes, the locale, the time zone, the working folder, the number of cores, and which of the
processor's instructions NumPy, OpenBLAS and the C library may use.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.small_pipeline import figures, make

ROOT = Path(__file__).parents[1]
WIDE = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL"
BORN = {
    "old processor": {
        "PYTHONHASHSEED": "1",
        "LC_ALL": "C",
        "TZ": "Asia/Kathmandu",
        "POLARS_MAX_THREADS": "1",
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": f"{WIDE} AVX2 FMA3",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
    },
    "other processor": {
        "PYTHONHASHSEED": "2",
        "LC_ALL": "tr_TR.UTF-8",
        "TZ": "America/St_Johns",
        "POLARS_MAX_THREADS": "3",
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": WIDE,
    },
}


def files(folder: Path) -> dict[str, bytes]:
    """All but those that tell the time."""
    found = (file for file in folder.rglob("*") if file.is_file() and file.name != "manifest.json")
    return {str(file.relative_to(folder)): file.read_bytes() for file in found}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("base")
    make(folder)
    figures(folder)
    return files(folder)


def apart(folder: Path, settings: dict[str, str], *cores: str) -> None:
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"} | settings
    command = [sys.executable, "-W", "ignore", "-m", "tests.support.small_pipeline", str(folder), *cores]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("settings", BORN.values(), ids=BORN)
def test_what_a_process_is_born_with(
    base: dict[str, bytes], turkish: dict[str, str], tmp_path: Path, settings: dict[str, str]
) -> None:
    apart(tmp_path, settings | turkish, "1")
    same(base, files(tmp_path))


@pytest.fixture(scope="module")
def turkish(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A locale whose small I is another letter, made here where the system can; else the setting names none."""
    target = tmp_path_factory.mktemp("locales") / "tr_TR.UTF-8"
    with suppress(OSError):
        subprocess.run(["localedef", "-i", "tr_TR", "-f", "UTF-8", str(target)], capture_output=True, check=False)
    return {"LOCPATH": str(target.parent)} if target.is_dir() else {}


def test_threads_files_last_to_first_and_another_folder(
    base: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: Callable[..., list[str]] = os.listdir
    monkeypatch.setattr(os, "listdir", lambda *path: sorted(listed(*path), reverse=True))
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    monkeypatch.chdir(tmp_path)
    make(Path("out"), threads=3, backwards=True)
    chained = {name: made for name, made in base.items() if not name.endswith(".svg") and "typeset/" not in name}
    same(chained, files(tmp_path / "out"))


def same(base: dict[str, bytes], other: dict[str, bytes]) -> None:
    assert len(base) > 100
    assert base.keys() == other.keys()
    assert [name for name in base if base[name] != other[name]] == []
