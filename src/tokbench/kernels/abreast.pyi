from tokbench.kernels.derivations import Derivations

class Abreast:
    """What two tokens make, in entries that are found without a branch."""

    @property
    def complete(self) -> bool: ...
    def __init__(self, derivations: Derivations) -> None: ...
