"""The data that sources name count in fingerprints."""

from pathlib import Path

from tokbench.workflow import fingerprint as module
from tokbench.workflow.fingerprint import Uses
from tokbench.workflow.packaged import FILES as PACKAGED

SOURCE = Path(module.__file__).parents[1]


def test_all_data_are_named() -> None:
    texts = {
        folder: [Uses(module._parse(path.read_bytes()).body).texts for path in folder.glob("*.py")]
        for folder in {path.parent for path in SOURCE.rglob("*.py")}
    }
    for file in [path for path in SOURCE.rglob("*") if path.suffix in module.DATA and path.parent != PACKAGED]:
        folder = file.parent.parent if file.parent.name == "templates" else file.parent
        with_it = [module._data(named, folder) for named in texts[folder]]
        assert any(with_it) or file.name in module.SPELLED_OUT, file
