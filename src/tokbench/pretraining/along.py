"""Checkpoints along the way that are exported as the model is, to be tested once it stands."""

from composer.core import Event, State, Time
from llmfoundry.callbacks.hf_checkpointer import HuggingFaceCheckpointer


class Along(HuggingFaceCheckpointer):
    """llm-foundry's export, after certain batches.

    A training that was killed between an export and its next checkpoint writes the export again.

    Args:
        save_folder: as of the export at the end.
        batches: after which of them, from 1.
    """

    def __init__(self, save_folder: str, batches: list[int]) -> None:
        super().__init__(save_folder=save_folder, save_interval="1dur", precision="float32")
        wanted = frozenset(batches)

        def is_wanted(state: State, event: Event) -> bool:
            return event == Event.BATCH_CHECKPOINT and int(state.timestamp.batch) in wanted

        self.check_interval = is_wanted
        self.last_checkpoint_batch: Time | None = None
