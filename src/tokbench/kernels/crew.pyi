class Crew:
    """A subclass says what to lead is, and what a task is."""

    def __init__(self, threads: int = 1) -> None: ...
