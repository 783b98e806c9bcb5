"""What the Snakemake rules ask: targets, resources, fingerprints, status of a run."""
