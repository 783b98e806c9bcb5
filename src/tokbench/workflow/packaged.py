"""The workflow as it is installed: Snakefile, rules, environments and profiles, beside the modules that they call."""

from pathlib import Path

FILES = Path(__file__).with_name("files")
"""In a checkout this folder holds links to the files at its top; in an installed package the files themselves."""
SNAKEFILE = FILES / "Snakefile"
