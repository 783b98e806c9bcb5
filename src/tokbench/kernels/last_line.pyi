def watch(status: int) -> None:
    """From now on, end this process with the line and ``status`` where a library gives up; its children not."""

def prepare(of_memory: bytes, of_crash: bytes) -> None:
    """Make the line ready: of a failed allocation, and of a crash that is most often one."""

def tell_sure() -> None:
    """Write the line of a failed allocation to standard error."""

def is_short() -> bool:
    """Whether a large allocation would fail at this moment."""

def remove_at_end(path: bytes) -> None:
    """Have a file or folder removed where a library gives up."""

def keep(path: bytes) -> None:
    """The opposite of :func:`remove_at_end`."""
