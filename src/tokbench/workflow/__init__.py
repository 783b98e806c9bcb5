"""Python functions used by the Snakemake rules: targets, resources, fingerprints and status of a run."""
