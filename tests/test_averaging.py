"""Gradients of a model that two processes divide, beside those of one that holds all of it."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.support import isolated_process


def test_gradients_of_a_divided_model_are_means_and_are_clipped_as_those_of_a_whole_one(tmp_path: Path) -> None:
    import torch
    from torch import distributed
    from torch.distributed import distributed_c10d
    from torch.distributed.fsdp import fully_shard
    from torch.nn.utils import clip_grad_norm_

    from tokbench.pretraining.averaging import average_on_cpus

    def work(rank: int) -> None:
        torch.set_num_threads(1)
        average_on_cpus()
        distributed_c10d._world = distributed_c10d._World()  # What this process was forked from may have trained.
        distributed.init_process_group(
            "gloo", rank=rank, world_size=2, store=distributed.FileStore(str(tmp_path / "store"), 2)
        )
        torch.manual_seed(0)
        whole: Any = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 4))
        divided, texts = deepcopy(whole), torch.randn(2, 3, 8)
        fully_shard(divided[0])
        fully_shard(divided)
        (sum(whole(text).square().sum() for text in texts) / 2).backward()
        divided(texts[rank]).square().sum().backward()
        for _ in range(2):
            for one, other in zip(divided.parameters(), whole.parameters(), strict=True):
                assert torch.allclose(one.grad.full_tensor(), other.grad, atol=1e-6)
            norms: Any = clip_grad_norm_(divided.parameters(), 0.5), clip_grad_norm_(whole.parameters(), 0.5)
            assert norms[0].full_tensor().item() == pytest.approx(norms[1].item(), rel=1e-5)
        assert norms[1].item() == pytest.approx(0.5, rel=1e-3), "clipped the first time"

    started = [
        (isolated_process.start(lambda rank=rank: work(rank), tmp_path / f"told{rank}"), rank) for rank in range(2)
    ]
    for process, rank in started:
        assert isolated_process.end(process) == 0, (tmp_path / f"told{rank}").read_text()
