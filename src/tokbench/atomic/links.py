"""Second names for files that are outputs of two jobs, so that nothing is lost where one of them is killed."""

import errno
import os
import shutil
from pathlib import Path

APART = (errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOSYS, errno.ENOTSUP)
"""How systems say that a file cannot have a second name there."""


def link_or_copy(file: Path, path: Path) -> None:
    """Give a file a second name; copy it where it cannot have one."""
    try:
        os.link(file, path)
    except OSError as error:
        if error.errno not in APART:
            raise
        shutil.copyfile(file, path)
