"""An experiment at a glance: what of its last run's plan is done, running, failed and missing, told from files alone.

A run leaves its plan in the experiment's folder (:mod:`tokbench.status.plan`); outputs, logs, benchmarks, the workflow
engine's marks and the lock say the rest (:mod:`tokbench.status.traces`). The engine itself is not asked: it would plan
again, and can neither while a run is going on nor on a machine that only sees the files.
"""
