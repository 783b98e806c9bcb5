"""Whether a command will compute on a GPU, for the memory that it needs beside it."""


def on_gpu(device: str) -> bool:
    """Whether a device, by its name in a recipe or an option, is a GPU; ``auto`` is one where there is one.

    A GPU that is asked for and is not there counts as one: who computes on it says so.
    """
    if device != "auto":
        return device != "cpu"
    import torch

    return torch.cuda.is_available()
