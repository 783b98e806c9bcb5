"""Benchmark of language models, one per tokenizer, on one GPU, without network access, within a time limit.

    python -m benchmarks.gpu.run --tokenizers results/gpu/tokenizers --corpus results/gpu/corpus/books --limit 540 \
        -o out

For each tokenizer, the text is packed, a model is trained with the code of ``tokbench pretrain``, and its bits per byte
on the evaluation split are measured with that of ``tokbench evaluate``. After the time limit, or if it is killed, the
same command resumes, within a training from its last checkpoint. A tokenizer that fails has a row with the reason, and
is tried again.

Output in ``out``: ``runs.csv`` and ``runs.parquet`` (one row per tokenizer, ``tables.COLUMNS``), ``curves.csv`` (every
tenth batch), ``machine.json`` and ``table.md``. Intermediate files are in ``rows``, ``packed``, ``checkpoints`` and
``models``.
"""

import argparse
import gc
import importlib
import importlib.metadata
import json
import multiprocessing
import os
import platform
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from benchmarks.gpu.tables import COLUMNS, name_of, read_csv, read_row, write, write_tables
from tokbench.models.memory import lm_parameters
from tokbench.models.pretraining.budget import flops_per_token
from tokbench.models.pretraining.options import ModelOptions, architecture_of
from tokbench.models.sampler import peak_of, read_samples, sample_resources, speed


def described(options: ModelOptions, given_peak: float | None) -> tuple[dict[str, Any], float | None]:
    """Return the properties of the machine, and its peak in TFLOP/s if known or given."""
    import torch

    gpu = options.device != "cpu" and torch.cuda.is_available()
    name = torch.cuda.get_device_name() if gpu else platform.processor() or platform.machine()
    peak = given_peak or peak_of(name)
    packages = ("tokbench", "torch", "llm-foundry", "mosaicml", "transformers", "numpy")
    known = {dist.metadata["Name"] for dist in importlib.metadata.distributions()}
    return {
        "device": name,
        "peak_tflops": peak,
        "matmul_tflops": matmul_tflops() if gpu else None,
        "cuda": torch.version.cuda if gpu else None,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in packages if name in known},
        "options": options.model_dump(mode="json"),
    }, peak


def matmul_tflops(side: int = 8192, times: int = 20) -> float:
    """Measure TFLOP/s of a product of two square random bfloat16 matrices."""
    import torch

    a, b = (torch.randn(side, side, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        a @ b
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(times):
        a @ b
    end.record()
    torch.cuda.synchronize()
    return 2 * side**3 * times / (start.elapsed_time(end) / 1000) / 1e12


RECIPE: dict[str, object] = {
    "d_model": 512,
    "n_heads": 8,
    "n_layers": 6,
    "max_seq_len": 1024,
    "batch": 32,
    "microbatch": 32,
    "epochs": 4.0,
    "learning_rate": 2e-3,
    "attn_impl": "sdpa",
    "checkpoint_every": 200,
}
"""Options of the model: 23 million parameters at 8,192 tokens, four epochs of the same text for every tokenizer."""
SPARE = 20.0
"""Seconds of the limit reserved for the end of the processes and for the tables."""
EVALUATED_AT_ONCE = 32


def tokenizer_folders(given: Sequence[Path]) -> list[Path]:
    """Return the tokenizer folders in or below these folders, sorted by path."""
    return sorted({file.parent for folder in given for file in folder.rglob("tokens.vocab")})


def pack_one(folder: Path, corpus: Path, options: ModelOptions, output: Path) -> None:
    """Pack the pretraining split, as ``tokbench pack``."""
    from tokbench.corpus.documents import read_documents
    from tokbench.io.identity import Maker
    from tokbench.models.pretraining.budget import of_text
    from tokbench.models.pretraining.order import Slices, encode_documents, sort_documents
    from tokbench.models.pretraining.pack import SliceForm, pack
    from tokbench.tokenizer import Tokenizer

    if output.is_dir():
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.load(folder)
    pieces = encode_documents(tokenizer, read_documents(sorted((corpus / "pretraining").glob("*.parquet"))))
    text = sort_documents(pieces, options.seed, output.parent)
    slices, maker = Slices.one_per_phase(options.seed), Maker(tokenizer.digest, folder)
    form = SliceForm(slices, options.max_seq_len, tokenizer.id_limit, tokenizer.end_of_text, maker, of_text(options))
    pack(text, form, output)


def pack_ahead(jobs: Sequence[tuple[Path, Path, ModelOptions, Path]]) -> None:
    """Pack in sequence; after a failure, the training packs again and reports the error."""
    for job in jobs:
        with suppress(Exception):
            pack_one(*job)


def train_one(folder: Path, corpus: Path, options: ModelOptions, output: Path, peak: float | None) -> dict[str, Any]:
    """Train a tokenizer's model and measure its bits per byte; return the row of the tables."""
    import torch

    from tokbench.models.pretraining.budget import Packing
    from tokbench.models.pretraining.train import pretrain

    name = name_of(folder)
    model, checkpoints, gauge = (output / kind / name for kind in ("models", "checkpoints", "gauges"))
    allocated = None
    gc.collect()
    if not model.is_dir():
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        pack_one(folder, corpus, options, output / "packed" / name)
        with sample_resources(gauge):
            pretrain(output / "packed" / name, folder, options, model, checkpoints)
        if torch.cuda.is_available():
            allocated = torch.cuda.max_memory_allocated() / 2**30
    curve = read_csv(model / "curve.csv")
    packing = Packing.read(output / "packed" / name)
    joules, used, starts = read_samples(gauge)
    flop = flops_per_token(options, packing.vocabulary)
    tokens_per_second = speed([(int(row["tokens"]), float(row["seconds"])) for row in curve])
    last = [float(row["loss"]) for row in curve[-max(1, len(curve) // 10) :]]
    return {
        "vocabulary": packing.vocabulary,
        "parameters": lm_parameters(options, packing.vocabulary),
        "batches": len(curve),
        "tokens": int(curve[-1]["tokens"]),
        "bytes_per_token": packing.text_bytes / packing.tokens,
        "gflop_per_token": flop / 1e9,
        "tokens_per_second": tokens_per_second,
        "mfu": tokens_per_second * flop / peak / 1e12 if peak and tokens_per_second else None,
        "train_seconds": float(curve[-1]["seconds"]),
        "starts": starts,
        "allocated_gib": allocated,
        "device_gib": used,
        "joules": joules,
        "loss": sum(last) / len(last),
        **evaluated(model, folder, corpus),
    }


def evaluated(model_folder: Path, folder: Path, corpus: Path) -> dict[str, Any]:
    """Measure bits per byte of the evaluation split, in windows with a stride of half their length."""
    import torch
    from transformers.models.mpt.modeling_mpt import MptForCausalLM

    from tokbench.corpus.documents import read_documents
    from tokbench.evaluation.bits_per_byte import TokenWindows, bits_per_byte
    from tokbench.tokenizer import Tokenizer

    tokenizer = Tokenizer.load(folder)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = MptForCausalLM.from_pretrained(model_folder, torch_dtype="auto", local_files_only=True)
    window = model.config.max_seq_len
    bits, totals = bits_per_byte(
        model.to(device).eval(),
        lambda text: tokenizer.encode(text).tolist(),
        (document.text for document in read_documents(sorted((corpus / "evaluation").glob("*.parquet")))),
        len(tokenizer),
        cut=TokenWindows(window, window // 2),
        batch_size=EVALUATED_AT_ONCE,
        device=device,
    )
    return {"bits_per_byte": bits, "evaluation_bytes": totals["bytes"], "evaluation_tokens": totals["tokens"]}


def train_all(
    folders: Sequence[Path], corpus: Path, options: ModelOptions, output: Path, given_peak: float | None
) -> None:
    """Train and measure in sequence, with one file per row; the process may be killed at any time."""
    if options.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import_libraries()
    machine, peak = described(options, given_peak)
    write(output / "machine.json", machine)
    for folder in folders:
        name = name_of(folder)
        variant, _, size = name.partition("/")
        row: dict[str, Any] = dict.fromkeys(COLUMNS)
        row |= {"variant": variant, "size": int(size) if size else None}
        began = time.monotonic()
        try:
            row |= train_one(folder, corpus, options, output, peak)
        except Exception as error:
            row["failed"] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        write(output / "rows" / f"{name}.json", row)
        print(f"{name}: {row['failed'] or row['bits_per_byte']}, {time.monotonic() - began:.0f} s", flush=True)
        if not row["failed"]:
            shutil.rmtree(output / "packed" / name)


def import_libraries() -> None:
    """Import the libraries of training, so that its time and energy exclude imports."""
    importlib.import_module("tokbench.models.pretraining.foundry")


def begin(output: Path, what: dict[str, Any]) -> None:
    """Record the settings of the runs, or compare them with an existing record."""
    note = output / "begun.json"
    if not note.is_file():
        write(note, what)
    elif json.loads(note.read_text(encoding="utf-8")) != what:
        raise SystemExit(f"{output}: begun with another corpus or recipe; give another folder, or the same again")


def main() -> None:
    began = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--tokenizers", type=Path, nargs="+", required=True, help="folders of tokenizers, or parent folders"
    )
    parser.add_argument("--corpus", type=Path, required=True, help="prepared corpus: pretraining/, evaluation/")
    parser.add_argument("--limit", type=float, required=True, help="time limit in seconds")
    parser.add_argument("--recipe", type=json.loads, default={}, help="options of the model as JSON, added to RECIPE")
    parser.add_argument(
        "--peak", type=float, help="bfloat16 peak of the device in TFLOP/s, if it is not in the built-in list"
    )
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()

    folders = tokenizer_folders(given.tokenizers)
    if not folders:
        raise SystemExit(f"{given.tokenizers[0]}: no tokenizers there; build some with 'tokbench build'")
    options = architecture_of(given.recipe).model_validate({**RECIPE, **given.recipe})
    shards = sorted(file.name for file in (given.corpus / "pretraining").glob("*.parquet"))
    begin(given.output, {"corpus": [given.corpus.name, *shards], "options": options.model_dump(mode="json")})
    left = [folder for folder in folders if read_row(given.output, name_of(folder))["bits_per_byte"] is None]
    ended = train_within(left, given.corpus, options, given.output, given.peak, began + given.limit - SPARE)
    rows = write_tables(folders, given.output)
    done = sum(row["bits_per_byte"] is not None for row in rows)
    print(f"{done} of {len(rows)} tokenizers, {time.monotonic() - began:.0f} s; see {given.output / 'table.md'}")
    if not ended:
        print("time limit reached; run the same command to resume")
    elif done < len(rows):
        raise SystemExit(1)


def train_within(
    folders: Sequence[Path], corpus: Path, options: ModelOptions, output: Path, peak: float | None, deadline: float
) -> bool:
    """Pack on all cores, then train each model in a separate process, because libraries keep models in memory.

    Returns:
        True if all were done before the deadline.
    """
    spawned = multiprocessing.get_context("spawn")
    jobs = [(folder, corpus, options, output / "packed" / name_of(folder)) for folder in folders]
    cores = os.cpu_count() or 1
    shares = [jobs[first::cores] for first in range(min(cores, len(jobs)))]
    packing = [spawned.Process(target=pack_ahead, args=(share,)) for share in shares]
    trainings = [[spawned.Process(target=train_all, args=([each], corpus, options, output, peak))] for each in folders]
    return all(ended_by(deadline, processes) for processes in (packing, *trainings))


def ended_by(deadline: float, processes: Sequence[SpawnProcess]) -> bool:
    """Run processes in parallel and kill them at the deadline; return True if all ended before it."""
    for process in processes:
        process.start()
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
    ended = not any(process.is_alive() for process in processes)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join(5)
        process.kill()
        process.join()
    return ended


if __name__ == "__main__":
    main()
