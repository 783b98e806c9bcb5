"""Puts language models that learn nothing in the place of those of the workflow, in every process that finds this."""

import sys
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

STAND_INS = {"tokbench.models.pretraining.train": "untrained.py", "tokbench.evaluation.evaluate": "guessed.py"}


class Finder:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        stand_in = STAND_INS.get(name)
        return spec_from_file_location(name, Path(__file__).with_name(stand_in)) if stand_in else None


sys.meta_path.insert(0, Finder)
