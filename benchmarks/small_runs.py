"""Small language models on a processor: what a training takes beside a plain PyTorch loop of the same model, in pairs.

    python benchmarks/small_runs.py [ROUNDS [BATCHES]]

Every round trains the preset ``tiny`` twice on the same sequences in this one process, by ``tokbench.pretraining.train``
and by a loop of PyTorch alone with the same model, batches, schedule, clipping and loss, in turns. The loop's optimizer
is PyTorch's own AdamW; it keeps no curve and no checkpoints, and its sequences lie in memory. Seconds are of processor
time, from the end of the first batch to that of the last, and beside them what else a training takes: models made,
checkpoints read through, the export. The quotient of a round is that of its pair; the last line has their median.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from unittest.mock import patch

import numpy as np

from tokbench.pretraining.encoded import Encoded
from tokbench.pretraining.mds import read_mds
from tokbench.pretraining.options import PRESETS, ModelOptions
from tokbench.pretraining.order import in_order
from tokbench.pretraining.pack import Packing, pack
from tokbench.pretraining.schedule import rate
from tokbench.pretraining.train import pretrain

VOCABULARY = 2048
CONTENT = 400_000


def sequences(folder: Path, options: ModelOptions) -> None:
    """Pack drawn ids, rare ones and frequent ones: what they are does not matter to how long they take."""
    shares = 1 / np.arange(1, VOCABULARY + 1)
    ids = np.random.default_rng(0).choice(VOCABULARY, CONTENT, p=shares / shares.sum()).astype(np.int32)
    text = [Encoded(number, True, 4 * len(part), part) for number, part in enumerate(np.split(ids, 100))]
    pack(in_order(iter(text), options.seed, folder.parent), VOCABULARY, folder, sequence_length=options.max_seq_len, seed=options.seed)


def plain(packed: Path, options: ModelOptions, ended: Callable[[], None]) -> None:
    """The same training as a loop of PyTorch."""
    import torch
    from llmfoundry.models.mpt import MPTConfig, MPTForCausalLM

    from tokbench.pretraining.foundry import model_config

    rows = np.concatenate([block.reshape(-1, options.max_seq_len) for block in read_mds(packed)]).astype(np.int64)
    torch.manual_seed(options.seed)
    model = MPTForCausalLM(MPTConfig(**model_config(options, options.vocabulary_rows(VOCABULARY)))).train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=options.learning_rate, betas=options.betas, eps=options.eps, weight_decay=0.0
    )
    assert options.batches is not None
    for batch in range(options.batches):
        for group in optimizer.param_groups:
            group["lr"] = options.learning_rate * rate(batch, options.batches, options.warmup, options.alpha_f)
        places = np.arange(batch * options.batch, (batch + 1) * options.batch) % len(rows)
        ids = torch.from_numpy(rows[places])
        logits = model(input_ids=ids).logits[:, :-1]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), options.clip)
        optimizer.step()
        loss.item()
        ended()


def ours(packed: Path, tokenizer: Path, options: ModelOptions, place: Path, ended: Callable[[], None]) -> None:
    """The training as the workflow's."""
    from tokbench.pretraining.curve import Curve

    batch_end = Curve.batch_end

    def noted(self: Curve, state: object, logger: object) -> None:
        batch_end(self, state, logger)  # type: ignore[arg-type]
        ended()

    with patch.object(Curve, "batch_end", noted):
        pretrain(packed, tokenizer, options, place / "model", place / "checkpoints")


def timed(work: Callable[[Callable[[], None]], None]) -> tuple[float, float, float]:
    """Seconds of processor time and of the clock from the first batch's end to the last's, and of the processor in all
    but these."""
    ends: list[tuple[float, float]] = []
    began = time.process_time()
    work(lambda: ends.append((time.process_time(), time.monotonic())))
    taken = time.process_time() - began
    processor, clock = (last - first for first, last in zip(ends[0], ends[-1], strict=True))
    return processor, clock, taken - processor


def main(rounds: int = 5, batches: int = 60) -> None:
    """Print the table."""
    import torch

    torch.set_num_threads(1)
    options = PRESETS["tiny"].model_copy(update={"batches": batches})
    tokens = (batches - 1) * options.batch * options.max_seq_len
    print(f"load {os.getloadavg()[0]:.1f}; {batches} batches of {options.batch} x {options.max_seq_len} tokens")
    print("           tokens a second of processor   of the clock   seconds of processor beside the batches")
    quotients = []
    with tempfile.TemporaryDirectory() as folder:
        packed, tokenizer = Path(folder, "packed"), Path(folder, "tokenizer")
        sequences(packed, options)
        tokenizer.mkdir()
        assert Packing.read(packed).vocabulary == VOCABULARY
        for number in range(rounds + 1):
            place = Path(folder, str(number))
            found = {
                "tokbench": timed(lambda ended, place=place: ours(packed, tokenizer, options, place, ended)),  # type: ignore[misc]
                "plain loop": timed(lambda ended: plain(packed, options, ended)),
            }
            if not number:  # Imports, and what libraries set up once, are in the first.
                continue
            for name, (processor, clock, beside) in found.items():
                print(f"{name:10} {tokens / processor:30.0f} {tokens / clock:14.0f} {beside:41.2f}")
            quotients.append(found["plain loop"][0] / found["tokbench"][0])
    print(f"tokens a second of processor, tokbench over plain loop: median {median(quotients):.3f} of {len(quotients)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
