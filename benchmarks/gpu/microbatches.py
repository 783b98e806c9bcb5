"""Search of :mod:`benchmarks.gpu.recipes` for the largest microbatch of each model, in one process."""

import gc
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.gpu.recipe_runs import memory, reason_of, synchronize
from benchmarks.gpu.tables import write
from tokbench.models.byte_lm.options import ByteLmOptions
from tokbench.models.pretraining.options import ModelOptions


def largest(fits: Callable[[int], bool], first: int, most: int) -> int | None:
    """Return the largest number for which ``fits`` is true, to an eighth of it; None if 1 does not fit.

    Args:
        fits: a test that is false from some number on.
        first: number to begin with.
        most: largest number to test.
    """
    size = min(first, most)
    while not fits(size):
        if size == 1:
            return None
        size //= 2
    if size < min(first, most):
        return size
    failed = most + 1
    while size < most and failed > most:
        double = min(2 * size, most)
        if fits(double):
            size = double
        else:
            failed = double
    while failed <= most and failed - size > max(1, size // 8):
        middle = (size + failed) // 2
        if fits(middle):
            size = middle
        else:
            failed = middle
    return size


def search_microbatches(
    recipes: Mapping[str, tuple[ModelOptions | ByteLmOptions, int]], output: Path, device: str | None = None
) -> None:
    """Search each recipe's largest microbatch: two forward and backward passes fit, with gradients and moments.

    The libraries' models, loss and precision are those of training. Results are added to the file after each recipe.

    Args:
        recipes: by name, the recipe and the number of tokens of its tokenizer (ignored for a byte model).
        output: JSON file; for each name ``largest_microbatch`` and, by microbatch, ``tokens_per_second`` and
            ``allocated_gib``.
        device: device of the search. Default: the GPU if there is one.
    """
    import torch

    place = device or ("cuda" if torch.cuda.is_available() else "cpu")
    results: dict[str, Any] = {}
    for name, (options, vocabulary) in recipes.items():
        trials: list[dict[str, Any]] = []
        try:
            microbatch = _search(options, vocabulary, place, trials)
        except Exception as error:
            results[name] = {"failed": reason_of(error), "trials": trials}
        else:
            results[name] = {"largest_microbatch": microbatch, "trials": trials}
        write(output, results)
        gc.collect()
        if place == "cuda":
            torch.cuda.empty_cache()


def _search(
    options: ModelOptions | ByteLmOptions, vocabulary: int, device: str, trials: list[dict[str, Any]]
) -> int | None:
    import torch

    model, loss_of, rows, length = _model_of(options, vocabulary, device)
    state = [torch.zeros_like(weight) for weight in model.parameters() for _ in ("first moment", "second moment")]
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    on_gpu = device == "cuda"

    def fits(size: int) -> bool:
        gc.collect()
        if on_gpu:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        seconds = 0.0
        try:
            for _ in range(2):
                began = time.monotonic()
                ids = torch.randint(rows, (size, length), device=device)
                with torch.autocast(device, torch.bfloat16, enabled=options.precision == "bf16"):
                    loss = loss_of(ids)
                loss.backward()
                del loss
                synchronize()
                seconds = time.monotonic() - began
        except (torch.OutOfMemoryError, MemoryError):
            trials.append({"microbatch": size, "tokens_per_second": None, "allocated_gib": None})
            return False
        speed = size * length / seconds
        trials.append(
            {"microbatch": size, "tokens_per_second": speed, "allocated_gib": memory()["allocated_gib"]},
        )
        return True

    first = options.microbatch if isinstance(options.microbatch, int) else 1
    microbatch = largest(fits, first, options.batch)
    del state
    return microbatch


def _model_of(options: ModelOptions | ByteLmOptions, vocabulary: int, device: str) -> tuple[Any, Any, int, int]:
    """Return a model, its loss as a function of ids, the number of ids, and the ids of a sequence."""
    import torch

    if isinstance(options, ByteLmOptions):
        from tokbench.models.byte_lm.model import START, build

        bytes_model: Any = build(options).to(device)  # type: ignore[arg-type]

        def byte_loss(ids: torch.Tensor) -> torch.Tensor:
            logits = bytes_model(input_ids=ids[:, :-1]).logits.float()
            return torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())

        return bytes_model, byte_loss, START, options.context + 1
    from llmfoundry.models.mpt.modeling_mpt import ComposerMPTCausalLM

    from tokbench.models.pretraining import foundry

    foundry.choose(options.attn_impl)
    rows = options.vocabulary_rows(vocabulary)
    config = foundry.model_config(options, rows) | {"init_device": device}
    del config["name"]
    model = ComposerMPTCausalLM(**config).to(device)

    def loss(ids: torch.Tensor) -> torch.Tensor:
        batch = {"input_ids": ids, "labels": ids}
        result: torch.Tensor = model.loss(model(batch), batch)
        return result.mean()

    return model, loss, rows, options.max_seq_len
