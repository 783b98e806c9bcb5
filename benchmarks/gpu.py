"""A language model for every tokenizer, on one GPU, without a network, within a time limit.

    python benchmarks/gpu.py --tokenizers results/gpu/tokenizers --corpus results/gpu/corpus/books --limit 540 -o out

Each tokenizer's text is packed, a model is trained on it by the very code of ``tokbench pretrain``, and its bits per
byte on the evaluation split are taken by that of ``tokbench evaluate``. What is done stays done: ended at its limit, or
killed, the same command goes on where it stopped, within a training from its last checkpoint. A tokenizer that fails
has a row which says why, and is tried again.

``out`` gets ``runs.csv`` and ``runs.parquet`` (a row each, see ``COLUMNS``), ``curves.csv`` (every tenth batch),
``machine.json`` and ``table.md``; in ``rows``, ``packed``, ``checkpoints`` and ``models`` lies what they are made of.
"""

import argparse
import csv
import gc
import importlib
import importlib.metadata
import json
import multiprocessing
import os
import platform
import shutil
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.atomic import atomic_file
from tokbench.pretraining.needs import parameters
from tokbench.pretraining.options import ModelOptions

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
"""23 million parameters at 8,192 tokens, four times over the same text for every tokenizer."""
PEAKS = {"NVIDIA H100 80GB HBM3": 989.4, "NVIDIA H200": 989.4, "NVIDIA A100": 312.0}
"""Dense bfloat16 TFLOP/s by the makers' data sheets, by how the device's name begins."""
COLUMNS = {
    "variant": "the tokenizer",
    "size": "tokens that were asked for",
    "vocabulary": "tokens that it has",
    "parameters": "of the model",
    "batches": "of the training",
    "tokens": "seen in training",
    "bytes_per_token": "of the packed text, ends of text counted as tokens",
    "gflop_per_token": "training arithmetic, see `flop_per_token`",
    "tokens_per_second": "median of ten stretches of the training without its first ten batches",
    "mfu": "that times the arithmetic, over the device's peak",
    "train_seconds": "in batches, checkpoints included, over all starts",
    "starts": "of the training: 1, and 1 for each time it was resumed",
    "allocated_gib": "most memory of the device that tensors took at once, at the last start",
    "device_gib": "most memory of the device in use, as it tells",
    "joules": "of the device from the beginning to the end of training, over all starts, as it tells",
    "loss": "nats a token, mean of the last tenth of the batches",
    "bits_per_byte": "on the evaluation split",
    "evaluation_bytes": "of the evaluation split",
    "evaluation_tokens": "of it",
    "failed": "why there are no numbers",
}
SKIPPED = 10
STRETCHES = 10
SAMPLED_EVERY = 0.5
START = "seconds,joules,bytes in use\n"
"""Line that opens each start's samples."""
SPARE = 20.0
"""Seconds of the limit that are kept for the end of the processes and the tables."""
EVALUATED_AT_ONCE = 32
EVERY = 10
"""Batches of which the table of curves shows one."""


def flop_per_token(options: ModelOptions, vocabulary: int) -> float:
    """Floating-point operations of training for a token.

    A matrix of n weights takes 2 n operations a token forwards and 4 n backwards (Kaplan et al. 2020). Counted are the
    layers' matrices and, once, the embedding matrix, which as the softmax's is multiplied and as the embedding only
    read. Attention adds 12 x layers x width x length, all scores counted, those of the future too (Chowdhery et al.
    2022, appendix B). Rows of the embedding matrix that pad it are counted, for they are computed.
    """
    layers = options.n_layers * (4 + 2 * options.expansion_ratio) * options.d_model**2
    softmax = options.vocabulary_rows(vocabulary) * options.d_model
    return 6.0 * (layers + softmax) + 12.0 * options.n_layers * options.d_model * options.max_seq_len


def tokenizer_folders(given: Sequence[Path]) -> list[Path]:
    """The tokenizers in these folders or below them, in order of their paths."""
    return sorted({file.parent for folder in given for file in folder.rglob("tokens.vocab")})


def name_of(folder: Path) -> str:
    """VARIANT/SIZE of an experiment's tokenizer; of another one its folder's name."""
    return f"{folder.parent.name}/{folder.name}" if folder.name.isdecimal() else folder.name


def pack_one(folder: Path, corpus: Path, length: int, output: Path) -> None:
    """Pack the pretraining split as ``tokbench pack`` does."""
    from tokbench.corpus.documents import read_documents
    from tokbench.pretraining.encoded import encoded
    from tokbench.pretraining.pack import pack
    from tokbench.tokenizer import Tokenizer

    if output.is_dir():
        return
    tokenizer = Tokenizer.load(folder)
    pieces = encoded(tokenizer, read_documents(sorted((corpus / "pretraining").glob("*.parquet"))))
    pack(pieces, len(tokenizer), output, sequence_length=length)


def pack_ahead(*job: Any) -> None:
    """Pack; what fails is left to training, which packs again and tells."""
    with suppress(Exception):
        pack_one(*job)


class Gauge:
    """Appends seconds, joules and bytes in use of the GPU to a file, while it is entered, if it tells them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        with self._path.open("a", encoding="utf-8", buffering=1) as file:
            file.write(START)
            try:
                tell = device_counters()
            except Exception as error:
                print(f"the device tells no joules: {type(error).__name__}: {error}", file=sys.stderr)
                return
            ended = False
            while not ended:
                ended = self._ended.wait(SAMPLED_EVERY)
                joules, used = tell()
                file.write(f"{time.monotonic() - began:.2f},{joules},{used}\n")


def device_counters() -> Callable[[], tuple[float, int]]:
    """A function that tells joules since now and bytes in use of the GPU, by NVIDIA's management library."""
    import pynvml
    import torch

    pynvml.nvmlInit()
    device = pynvml.nvmlDeviceGetHandleByIndex(torch.cuda.current_device())
    first = pynvml.nvmlDeviceGetTotalEnergyConsumption(device)
    return lambda: (
        (pynvml.nvmlDeviceGetTotalEnergyConsumption(device) - first) / 1000,
        pynvml.nvmlDeviceGetMemoryInfo(device).used,
    )


def gauged(path: Path) -> tuple[float | None, float | None, int | None]:
    """Joules over all starts, most GiB in use, and the number of starts that such a file tells of."""
    if not path.is_file():
        return None, None, None
    starts = path.read_text(encoding="utf-8").split(START)[1:]
    told = [[line.split(",") for line in start.splitlines() if line.count(",") == 2] for start in starts]
    told = [rows for rows in told if rows]
    if not told:
        return None, None, len(starts)
    used = max(int(row[2]) for rows in told for row in rows)
    return sum(float(rows[-1][1]) for rows in told), used / 2**30, len(starts)


def speed(rows: Sequence[dict[str, str]]) -> float | None:
    """Tokens a second: the median over stretches of equal length of a training's curve, its first batches left out."""
    length = (len(rows) - 1 - SKIPPED) // STRETCHES
    if length < 1:
        return None
    marks = [rows[SKIPPED + number * length] for number in range(STRETCHES + 1)]
    found = sorted(
        (int(end["tokens"]) - int(start["tokens"])) / max(0.01, float(end["seconds"]) - float(start["seconds"]))
        for start, end in pairwise(marks)
    )
    return (found[STRETCHES // 2 - 1] + found[STRETCHES // 2]) / 2


def train_one(folder: Path, corpus: Path, options: ModelOptions, output: Path, peak: float | None) -> dict[str, Any]:
    """Train a tokenizer's model and take its bits per byte; the row of the tables."""
    import torch

    from tokbench.pretraining.pack import Packing
    from tokbench.pretraining.train import pretrain

    name = name_of(folder)
    model, checkpoints, gauge = (output / kind / name for kind in ("models", "checkpoints", "gauges"))
    allocated = None
    gc.collect()
    if not model.is_dir():
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        pack_one(folder, corpus, options.max_seq_len, output / "packed" / name)
        with Gauge(gauge):
            pretrain(output / "packed" / name, folder, options, model, checkpoints)
        if torch.cuda.is_available():
            allocated = torch.cuda.max_memory_allocated() / 2**30
    curve = read_csv(model / "curve.csv")
    packing = Packing.read(output / "packed" / name)
    joules, used, starts = gauged(gauge)
    flop = flop_per_token(options, packing.vocabulary)
    tokens_per_second = speed(curve)
    last = [float(row["loss"]) for row in curve[-max(1, len(curve) // 10) :]]
    return {
        "vocabulary": packing.vocabulary,
        "parameters": parameters(options, packing.vocabulary),
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
    """Bits per byte of the evaluation split, in windows that move by half their length, as ``tokbench evaluate``."""
    import torch
    from transformers.models.mpt.modeling_mpt import MptForCausalLM

    from tokbench.corpus.documents import read_documents
    from tokbench.downstream.bits_per_byte import bits_per_byte
    from tokbench.tokenizer import Tokenizer

    tokenizer = Tokenizer.load(folder)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = MptForCausalLM.from_pretrained(model_folder, torch_dtype="auto", local_files_only=True)
    window = model.config.max_seq_len
    found, of = bits_per_byte(
        model.to(device).eval(),
        lambda text: tokenizer.encode(text).tolist(),
        (document.text for document in read_documents(sorted((corpus / "evaluation").glob("*.parquet")))),
        len(tokenizer),
        window=window,
        stride=window // 2,
        batch_size=EVALUATED_AT_ONCE,
        device=device,
    )
    return {"bits_per_byte": found, "evaluation_bytes": of["bytes"], "evaluation_tokens": of["tokens"]}


def train_all(
    folders: Sequence[Path], corpus: Path, options: ModelOptions, output: Path, given_peak: float | None
) -> None:
    """Train and measure one after another, a file for each row; in a process that may be ended at any time."""
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
    """Import what training does, so that no training's seconds and joules are those of imports."""
    from tokbench.lean import lean_imports
    from tokbench.pretraining.train import UNUSED

    with lean_imports(hollow=UNUSED):
        importlib.import_module("tokbench.pretraining.foundry")


def described(options: ModelOptions, given_peak: float | None) -> tuple[dict[str, Any], float | None]:
    """The machine, and its peak in TFLOP/s where it is known or given."""
    import torch

    gpu = options.device != "cpu" and torch.cuda.is_available()
    name = torch.cuda.get_device_name() if gpu else platform.processor() or platform.machine()
    peak = given_peak or next((value for start, value in PEAKS.items() if name.startswith(start)), None)
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
    """What the device does of its peak: TFLOP/s of a product of two square bfloat16 matrices of random numbers."""
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


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as partial:
        partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read_rows(folders: Sequence[Path], output: Path) -> list[dict[str, Any]]:
    """The row of every tokenizer; of one that has no numbers yet, why."""
    return [read_row(output, name_of(folder)) for folder in folders]


def read_row(output: Path, name: str) -> dict[str, Any]:
    file = output / "rows" / f"{name}.json"
    if file.is_file():
        return dict.fromkeys(COLUMNS) | json.loads(file.read_text(encoding="utf-8"))
    curve = output / "checkpoints" / name / "curve.csv"
    batches = max(0, len(curve.read_text().splitlines()) - 1) if curve.is_file() else 0
    variant, _, size = name.partition("/")
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row |= {"variant": variant, "size": int(size) if size else None}
    row["failed"] = f"the limit came after {batches} batches" if batches else "the limit came before its training"
    return row


def write_tables(folders: Sequence[Path], output: Path) -> list[dict[str, Any]]:
    """Write the tables of what there is."""
    rows = read_rows(folders, output)
    whole = ("size", "vocabulary", "parameters", "batches", "tokens", "starts", "evaluation_bytes", "evaluation_tokens")
    kinds = {name: pa.int64() for name in whole} | dict.fromkeys(("variant", "failed"), pa.string())
    table = pa.Table.from_pylist(rows, pa.schema([(name, kinds.get(name, pa.float64())) for name in COLUMNS]))
    with atomic_file(output / "runs.parquet") as partial:
        pq.write_table(table, partial)
    with atomic_file(output / "runs.csv") as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    with atomic_file(output / "curves.csv") as partial, partial.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["variant", "size", "batch", "loss", "seconds"])
        for row in rows:
            curve = output / "models" / name_of_row(row) / "curve.csv"
            if curve.is_file():
                for point in read_csv(curve)[EVERY - 1 :: EVERY]:
                    cells = (row["variant"], row["size"], point["batch"], f"{float(point['loss']):.4f}")
                    lines.writerow([*cells, point["seconds"]])
    with atomic_file(output / "table.md") as partial:
        partial.write_text(markdown(rows), encoding="utf-8")
    return rows


def name_of_row(row: dict[str, Any]) -> str:
    return f"{row['variant']}/{row['size']}" if row["size"] else str(row["variant"])


SHOWN: dict[str, tuple[str, str]] = {
    "variant": ("", "{}"),
    "vocabulary": ("tokens", "{:,}"),
    "parameters": ("parameters", "{:,}"),
    "batches": ("batches", "{:,}"),
    "bytes_per_token": ("bytes a token", "{:.2f}"),
    "bits_per_byte": ("bits a byte", "{:.4f}"),
    "tokens_per_second": ("tokens a second", "{:,.0f}"),
    "mfu": ("MFU", "{:.1%}"),
    "train_seconds": ("seconds", "{:.0f}"),
    "allocated_gib": ("GiB of tensors", "{:.1f}"),
    "joules": ("kilojoules", "{:.1f}"),
}


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """The table of the page, the best predictor first."""
    lines = ["| " + " | ".join(title for title, _ in SHOWN.values()) + " |", "|---" + "|--:" * (len(SHOWN) - 1) + "|"]
    for row in sorted(rows, key=lambda row: (row["bits_per_byte"] is None, row["bits_per_byte"] or 0.0)):
        values = {**row, "joules": row["joules"] and row["joules"] / 1000}
        cells = ["" if values[name] is None else form.format(values[name]) for name, (_, form) in SHOWN.items()]
        lines.append("| " + " | ".join(cells) + " |" + (f" {row['failed']} |" if row["failed"] else ""))
    return "\n".join(lines) + "\n"


def begin(output: Path, what: dict[str, Any]) -> None:
    """Note what is trained on what, or find it noted so."""
    note = output / "begun.json"
    if not note.is_file():
        write(note, what)
    elif json.loads(note.read_text(encoding="utf-8")) != what:
        raise SystemExit(f"{output}: begun with another corpus or recipe; give another folder, or the same again")


def main() -> None:
    began = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--tokenizers", type=Path, nargs="+", required=True, help="folders of tokenizers, or above them"
    )
    parser.add_argument("--corpus", type=Path, required=True, help="prepared corpus: pretraining/, evaluation/")
    parser.add_argument("--limit", type=float, required=True, help="seconds after which this has ended")
    parser.add_argument("--recipe", type=json.loads, default={}, help="options of the model as JSON, beside RECIPE's")
    parser.add_argument("--peak", type=float, help="TFLOP/s of the device in bfloat16, where it is not known here")
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()

    folders = tokenizer_folders(given.tokenizers)
    if not folders:
        raise SystemExit(f"{given.tokenizers[0]}: no tokenizers there; build some with 'tokbench build'")
    options = ModelOptions.model_validate({**RECIPE, **given.recipe})
    shards = sorted(file.name for file in (given.corpus / "pretraining").glob("*.parquet"))
    begin(given.output, {"corpus": [given.corpus.name, *shards], "options": options.model_dump(mode="json")})
    left = [folder for folder in folders if read_row(given.output, name_of(folder))["bits_per_byte"] is None]
    ended = train_within(left, given.corpus, options, given.output, given.peak, began + given.limit - SPARE)
    rows = write_tables(folders, given.output)
    done = sum(row["bits_per_byte"] is not None for row in rows)
    print(f"{done} of {len(rows)} tokenizers, {time.monotonic() - began:.0f} s; see {given.output / 'table.md'}")
    if not ended:
        print("ended by the limit; the same command goes on")
    elif done < len(rows):
        raise SystemExit(1)


def train_within(
    folders: Sequence[Path], corpus: Path, options: ModelOptions, output: Path, peak: float | None, deadline: float
) -> bool:
    """Pack on all cores, then train one after another; whether the deadline left time for all."""
    spawned = multiprocessing.get_context("spawn")
    with spawned.Pool(max(1, min(len(folders), os.cpu_count() or 1))) as pool:
        jobs = [(folder, corpus, options.max_seq_len, output / "packed" / name_of(folder)) for folder in folders]
        try:
            pool.starmap_async(pack_ahead, jobs, chunksize=1).get(max(0.0, deadline - time.monotonic()))
        except multiprocessing.TimeoutError:
            return False
    process = spawned.Process(target=train_all, args=(folders, corpus, options, output, peak))
    process.start()
    process.join(max(0.0, deadline - time.monotonic()))
    ended = not process.is_alive()
    process.terminate()
    process.join(5)
    process.kill()
    process.join()
    return ended


if __name__ == "__main__":
    main()
