"""Records of jobs: the configuration and code that a result must have, compared with those that made it.

A record contains the wildcards of a job, the parameters of its rule, among them the fingerprint of code, a digest of
its inputs, and the versions of the libraries that can change its results. The command writes it into every output, see
:mod:`tokbench.io.job_record`. So Snakemake's notes in ``.snakemake``, which another checkout does not have, do not
decide which results are out of date.

Every rule has an input ``records.trigger("rule")``, which is newer than a result with another record or none and never
counts for other results, and a parameter ``job=records.of("rule")``, the text of the record.
"""

import hashlib
import inspect
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.io.job_record import FOLDER_RECORD, date_of_folder, digest_of_job, read_job
from tokbench.options import canonical
from tokbench.stage import stages
from tokbench.workflow.environments import versions_for
from tokbench.workflow.shell import has_environments

NEWER = ".snakemake/other_options_or_code"
"""Folder that is newer than every result. It is a folder because Snakemake also compares the content of files."""
TIMESTAMP = ".snakemake_timestamp"
"""File in an output folder whose date Snakemake takes for that of the folder."""
SECOND = 1_000_000_000
"""Nanoseconds."""
COPY_DELAY = 60 * SECOND
"""Nanoseconds by which the file of a folder's record is newer than the date in it if the folder was copied."""
LONGEST = 2000
"""Maximum characters of a parameter in a record; a longer one is represented by its digest."""
TRIGGERS = {"code": "CODE", "libraries": "SOFTWARE_ENV"}
"""Snakemake's trigger of reruns for parts of a record."""
OTHER_TRIGGER = "PARAMS"
"""Snakemake's trigger for all other parts."""
DERIVED_FROM = {"input", "output", "resources", "threads"}
"""Arguments of functions whose parameters follow from the inputs, or from how a job runs."""
OURS = ("<results>/", "<resources>/")
"""Beginnings of the paths of results and downloads, which records contain in place of the folders. The content of the
user's files is a parameter."""
WITHOUT_RECORD = (".csv",)
"""Endings of outputs that have no record; another output of the same job has one."""


@dataclass(frozen=True)
class JobRecords:
    """The records of an experiment's jobs.

    Args:
        workflow: the workflow engine's workflow.
        rules: its rules, as attributes.
        experiment: the experiment. Records do not contain its folder, so that results may be moved.
    """

    workflow: Any
    rules: Any
    experiment: Experiment
    _dates: list[int] = field(default_factory=list)
    _names: list[str] = field(default_factory=list)
    _records: dict[tuple[Any, ...], dict[str, Any]] = field(default_factory=dict)
    _params: dict[str, dict[str, Any]] = field(default_factory=dict)
    _versions: dict[str, dict[str, str]] = field(default_factory=dict)

    def of(self, rule: str) -> Callable[[Any, Any], str]:
        """Return the parameter function of a rule: the record of a job as JSON.

        It has the argument ``input`` because Snakemake does not compare such parameters, whose parts it compares.
        """
        self._names.append(rule)
        return lambda wildcards, input: canonical(self._record_of(rule, dict(wildcards.items())))

    def trigger(self, rule: str) -> Callable[[Any], Any]:
        """Return the input function of a rule: a folder that is newer than a result with another record.

        Results in a storage have no input of this kind: only Snakemake's own notes decide there.
        """
        from snakemake.io import ancient

        def newer_folder(wildcards: Any) -> Any:
            if self.workflow.storage_settings.default_storage_provider is not None:
                return []
            date = self._date()
            outdated = self._outdated_results(rule, dict(wildcards.items())) if self.workflow.is_main_process else []
            for result in outdated:
                _age(result, date)
            return NEWER if outdated else ancient(NEWER)

        return newer_folder

    def _date(self) -> int:
        """Return the date of :data:`NEWER` in ns; the main process sets it once.

        It is a second ago: a job of another run that ends now must be newer.
        """
        if not self._dates:
            os.makedirs(NEWER, exist_ok=True)
            self._dates.append(time.time_ns() - SECOND)
            if self.workflow.is_main_process:
                os.utime(NEWER, ns=(self._dates[0], self._dates[0]))
        return self._dates[0]

    def input_digests(self, wildcards: Any, input: Any) -> str:
        """Return the digest of the record of each input that a job of the workflow makes, as JSON by path."""
        return canonical({path: digest for path in input if (digest := self._digest_of(str(path))) is not None})

    def _digest_of(self, path: str) -> str | None:
        for name in self._names:
            proxy = getattr(self.rules, name)
            beginnings = tuple(output.partition("{")[0] for output in proxy.output)
            if path.startswith(beginnings) and proxy.rule.is_producer(path):
                return digest_of_job(self._record_of(name, proxy.rule.get_wildcards(path)))
        return None

    def _outdated_results(self, rule: str, wildcards: Mapping[str, str]) -> list[Path]:
        """Return the results of a job whose record is missing, or another one in a part that the run compares."""
        outputs = (Path(path.format_map(wildcards)) for path in getattr(self.rules, rule).output)
        existing = [path for path in outputs if path.suffix not in WITHOUT_RECORD and path.exists()]
        compared = {trigger.name for trigger in self.workflow.rerun_triggers}
        for path in existing:
            _restore_date(path)
        if not existing or compared.isdisjoint({*TRIGGERS.values(), OTHER_TRIGGER}):
            return []
        record = self._record_of(rule, wildcards)
        return [path for path in existing if _differs(read_job(path), record, compared)]

    def _record_of(self, rule: str, wildcards: Mapping[str, str]) -> dict[str, Any]:
        """Return the record of a job (cached)."""
        job = rule, *sorted(wildcards.items())
        if job not in self._records:
            self._records[job] = self._build_record(rule, wildcards)
        return self._records[job]

    def _build_record(self, rule: str, wildcards: Mapping[str, str]) -> dict[str, Any]:
        values = SimpleNamespace(**wildcards)
        items = list(getattr(self.rules, rule).input)[1:]  # The first one is the trigger.
        inputs = [getattr(item, "callable", None) or item for item in items]  # Those of ancient files.
        entries = [item(values) if callable(item) else item for item in inputs]
        patterns = [path for paths in entries for path in ([paths] if isinstance(paths, str | Path) else paths)]
        paths = (str(path).format_map(wildcards) for path in patterns)
        ours = (path for path in map(self._movable_path, paths) if path.startswith(OURS))
        record: dict[str, Any] = {"wildcards": dict(wildcards), "inputs": _digest("\n".join(ours))}
        for name, item in self._compared_params(rule).items():
            record[name] = self._value(item(values) if callable(item) else item)
        if libraries := self._libraries(rule):
            record["libraries"] = libraries
        return record

    def _libraries(self, rule: str) -> dict[str, str]:
        """Return the versions of the libraries that can change the results of a stage (cached).

        They are empty if Snakemake makes the environments of rules, whose versions this process does not know.
        """
        if rule not in self._versions:
            separate = has_environments(self.workflow)
            self._versions[rule] = {} if separate else versions_for(stages[rule], self.experiment)
        return self._versions[rule]

    def _compared_params(self, rule: str) -> dict[str, Any]:
        """Return the parameters of a rule that are part of its records."""
        if rule not in self._params:
            params = getattr(self.rules, rule).params.items()
            self._params[rule] = {name: item for name, item in params if not _is_derived(item)}
        return self._params[rule]

    def _value(self, value: Any) -> Any:
        """Return a parameter as JSON: parsed if it is JSON text, or its digest if it is long."""
        text = self._movable(value if isinstance(value, str) else json.dumps(value, default=str))
        if len(text) > LONGEST:
            return f"sha256 {_digest(text)}"
        return text if isinstance(value, str) and not text.startswith("{") else json.loads(text)

    def _movable_path(self, path: str) -> str:
        """Return a path without the experiment's folder, nor that of the copies of files in a storage."""
        if self.workflow.storage_settings.default_storage_provider is not None:
            folder = str(self.experiment.folder)
            _, copied, below = path.rpartition(f"/{folder.lstrip('/')}/")
            path = f"{folder}/{below}" if copied else path
        return self._movable(path)

    def _movable(self, text: str) -> str:
        return text.replace(f"{self.experiment.folder}/", OURS[0])


def _is_derived(item: Any) -> bool:
    """Return whether a parameter follows from the inputs, or from how the job runs."""
    return callable(item) and not DERIVED_FROM.isdisjoint(inspect.signature(item).parameters)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _differs(old: Mapping[str, Any] | None, new: Mapping[str, Any], compared: set[str]) -> bool:
    """Return whether a record is missing or differs in a part that is compared."""
    if old is None:
        return True
    differing = (part for part in {*old, *new} if old.get(part) != new.get(part))
    return any(TRIGGERS.get(part, OTHER_TRIGGER) in compared for part in differing)


def _restore_date(result: Path) -> None:
    """Give a folder that was copied without its dates the date at which it was made, which its record contains.

    Snakemake compares the content of files, but only the dates of folders. The date of the record's file shows a copy.
    """
    date = date_of_folder(result) if result.is_dir() else None
    if date is not None and (result / FOLDER_RECORD).stat().st_mtime_ns - date > COPY_DELAY:
        (result / TIMESTAMP).touch()
        for name in (TIMESTAMP, FOLDER_RECORD):
            os.utime(result / name, ns=(date, date))


def _age(result: Path, date: int) -> None:
    """Give an outdated result from the future, as after a copy from a machine whose clock is ahead, an older date."""
    file = result / TIMESTAMP if (result / TIMESTAMP).exists() else result
    if file.stat().st_mtime_ns >= date:
        os.utime(file, ns=(date - SECOND, date - SECOND))
