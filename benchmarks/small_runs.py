"""Small language models on a processor: what a training takes beside a plain PyTorch loop of the same model, in pairs.

    python benchmarks/small_runs.py [ROUNDS [BATCHES]]

Every round trains the preset ``tiny`` twice on the same sequences in this one process: by ``tokbench.pretraining``, and
by a loop of PyTorch alone with the same model, batches, schedule, clipping and loss, in turns. The loop's optimizer
is PyTorch's own AdamW; it keeps no curve and no checkpoints, and its sequences lie in memory. Tokens are told a second
of processor time from the end of the first batch to that of the last, so that a busy machine disturbs both alike;
beside them what was idle in that time, neither computing nor waiting for a processor, and what else the training takes:
a model made, checkpoints, the export. Then jobs of the workflow are started as the workflow starts them.
"""

import os
import shlex
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from unittest.mock import patch

import numpy as np

from tokbench.pretraining.encoded import Encoded
from tokbench.pretraining.mds import read_mds
from tokbench.pretraining.options import PRESETS, ModelOptions
from tokbench.pretraining.order import in_order
from tokbench.pretraining.pack import pack
from tokbench.pretraining.schedule import rate
from tokbench.pretraining.train import pretrain
from tokbench.workflow.shell import shell_prefix
from tokbench.workflow.starts import Fork, Starts

VOCABULARY = 2048
CONTENT = 400_000
JOBS = 4


def sequences(folder: Path, options: ModelOptions) -> None:
    """Pack drawn ids, rare ones and frequent ones: what they are does not matter to how long they take."""
    shares = 1 / np.arange(1, VOCABULARY + 1)
    ids = np.random.default_rng(0).choice(VOCABULARY, CONTENT, p=shares / shares.sum()).astype(np.int32)
    text = [Encoded(number, True, 4 * len(part), part) for number, part in enumerate(np.split(ids, 100))]
    pack(
        in_order(iter(text), options.seed, folder.parent),
        VOCABULARY,
        folder,
        sequence_length=options.max_seq_len,
        seed=options.seed,
    )


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
    """Seconds of the processor from the first batch's end to the last's, those in which it neither computed nor waited
    for one, and those of the processor in all but these batches."""
    ends: list[tuple[float, float]] = []
    began = time.process_time()
    work(lambda: ends.append((time.process_time(), time.monotonic() - _ready())))
    taken = time.process_time() - began
    processor, idle = (last - first for first, last in zip(ends[0], ends[-1], strict=True))
    return processor, idle, taken - processor


def _ready() -> float:
    """Seconds for which this thread has computed, or could have."""
    computed, waited, _ = map(int, Path("/proc/thread-self/schedstat").read_text().split())
    return (computed + waited) / 1e9


def jobs(packed: Path, tokenizer: Path, options: ModelOptions, place: Path) -> list[tuple[str, float]]:
    """How each of some jobs of the workflow that train one after the other starts, and its seconds of the processor."""
    prefix = shell_prefix(apart=False).replace("{{", "{").replace("}}", "}")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    starts, found = Starts(prefix), []
    for number in range(JOBS):
        words = {
            "--recipe": options.model_dump_json(),
            "--packed": packed,
            "--tokenizer": tokenizer,
            "--checkpoints": place / f"checkpoints {number}",
            "-o": place / f"model {number}",
        }
        line = " ".join(f"{name} {shlex.quote(str(value))}" for name, value in words.items())
        call = f"{prefix} tokbench pretrain {line} &> {shlex.quote(f'{place}/log')}"
        before = os.times()
        job = starts.popen(call, env=environment, shell=True, executable="/bin/bash")
        forked = isinstance(job, Fork)
        seconds = _watched(job.pid) if forked else 0.0
        if job.wait():
            sys.exit((place / "log").read_text())
        after = os.times()
        own = after.children_user + after.children_system - before.children_user - before.children_system
        found.append(("a fork" if forked else "a process", seconds if forked else own))
    return found


def _watched(process: int) -> float:
    """Seconds of the processor that a process takes until it ends, to a fiftieth of one."""
    seconds = 0.0
    while True:
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return seconds
        if fields[0] == "Z":
            return seconds
        seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        time.sleep(0.02)


def main(rounds: int = 5, batches: int = 60) -> None:
    """Print the tables."""
    import torch

    torch.set_num_threads(1)
    options = PRESETS["tiny"].model_copy(update={"batches": batches})
    tokens = (batches - 1) * options.batch * options.max_seq_len
    print(f"load {os.getloadavg()[0]:.1f}; {batches} batches of {options.batch} x {options.max_seq_len} tokens")
    print("            tokens a second of processor   idle, s   processor beside the batches, s")
    quotients = []
    with tempfile.TemporaryDirectory() as folder:
        packed, tokenizer = Path(folder, "packed"), Path(folder, "tokenizer")
        sequences(packed, options)
        tokenizer.mkdir()
        for number in range(rounds + 1):
            place = Path(folder, str(number))
            found = {
                "tokbench": timed(partial(ours, packed, tokenizer, options, place)),
                "plain loop": timed(partial(plain, packed, options)),
            }
            if not number:  # Imports, and what libraries set up once, are in the first.
                continue
            for name, (processor, idle, beside) in found.items():
                print(f"{name:10} {tokens / processor:29.0f} {idle:9.2f} {beside:33.2f}")
            quotients.append(found["plain loop"][0] / found["tokbench"][0])
        print(f"tokbench over plain loop, tokens a second of processor: {[round(one, 3) for one in sorted(quotients)]}")
        print(f"median {median(quotients):.3f} of {len(quotients)} pairs")
        print("jobs of the workflow, one after the other:")
        for how, seconds in jobs(packed, tokenizer, options, Path(folder)):
            print(f"{how:10} {seconds:6.1f} s of processor in all")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*map(int, sys.argv[1:]))
