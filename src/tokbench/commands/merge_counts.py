"""``tokbench merge_counts``: merge the counts of shards."""

import click

from tokbench import memory


@click.command("merge_counts")
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="Parquet file of counts.")
@click.argument("parts", nargs=-1, required=True)
def command(output: str, parts: tuple[str, ...]) -> None:
    """Add up the counts in PARTS, all of the same scheme, each language by itself."""
    from tokbench.counting.count import merge_counts
    from tokbench.counting.languages import has_languages, read_languages, write_languages
    from tokbench.pretokens import PretokenCounts

    memory.purpose(f"merge {len(parts):,} files of counts")
    if any(map(has_languages, parts)):
        found: dict[str, list[PretokenCounts]] = {}
        for part in parts:
            for language, counts in read_languages(part).items():
                found.setdefault(language, []).append(counts)
        whole = write_languages({language: merge_counts(counts) for language, counts in found.items()}, output)
    else:
        whole = merge_counts(parts)
        whole.write(output)
    click.echo(f"{len(whole):,} unique pre-tokens, {whole.total:,} in all", err=True)
