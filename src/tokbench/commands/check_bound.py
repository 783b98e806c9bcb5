"""``tokbench check_bound``: check a proof of how few tokens any vocabulary could need."""

import json
from pathlib import Path

import click

from tokbench import memory
from tokbench.errors import TokbenchError


@click.command("check_bound")
@click.argument("certificate", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--counts", required=True, type=click.Path(exists=True, dir_okay=False), help="Pre-token counts of the text."
)
def command(certificate: str, counts: str) -> None:
    """Check what 'tokbench bound -o CERTIFICATE' wrote, by a plain program that shares nothing with it; print JSON."""
    from tokbench.optimum.check import proves, read_certificate, read_counts

    memory.purpose(f"check {certificate} on {counts}")
    try:
        text = read_counts(Path(counts))
    except (ValueError, KeyError) as error:
        raise TokbenchError(f"{counts}: no pre-token counts ({error})") from None
    try:
        claim, prices = read_certificate(Path(certificate))
        if (most := claim.get("max_pretoken_bytes")) is not None:
            text = {pretoken: count for pretoken, count in text.items() if len(pretoken) <= most}
        if missing := text.keys() - prices.keys():
            raise ValueError(f"{len(missing):,} pre-tokens of {counts} have no prices, {min(missing)!r} among them")
        found = proves(text, prices, claim["size"], claim["scale"], claim["longest"])
    except (ValueError, TypeError) as error:
        raise TokbenchError(f"{certificate}: proves nothing: {error}") from None
    if found < claim["bound"]:
        raise TokbenchError(f"{certificate}: claims {claim['bound']} tokens, but proves {found} only")
    click.echo(json.dumps({"proven": found, "claimed": claim["bound"], "size": claim["size"]}))
