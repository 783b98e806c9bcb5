"""Gradients of a model that is divided over processes are means over these on CPUs, as they are on GPUs.

PyTorch's ``fully_shard`` has the backend take the mean as it shares gradients out. Gloo, the backend of CPUs, gives the
sum in its place and does not say so (PyTorch 2.7). Adam's steps are the same for both, but clipping begins at a norm
that is smaller by the number of processes. Sums are asked for here, and divided afterwards.
"""

import torch
from torch.distributed import ProcessGroup
from torch.distributed.fsdp._fully_shard import _fsdp_collectives

_factors = _fsdp_collectives._get_gradient_divide_factors


def _after_the_sum(
    reduce_scatter_group: ProcessGroup,
    all_reduce_group: ProcessGroup | None,
    reduce_dtype: torch.dtype,
    device_type: str = "",
) -> tuple[None, None] | tuple[float, float]:
    """What gradients are divided by before and after they are summed; nothing where the backend takes the mean."""
    if device_type != "cpu":
        return _factors(reduce_scatter_group, all_reduce_group, reduce_dtype, device_type)
    replicas = 1 if all_reduce_group is None else all_reduce_group.size()
    return 1.0, float(reduce_scatter_group.size() * replicas)


def average_on_cpus() -> None:
    """Have gradients on CPUs divided by the number of processes; a second call changes nothing."""
    _fsdp_collectives._get_gradient_divide_factors = _after_the_sum
