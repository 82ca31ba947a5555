import click


@click.command()
def command() -> None:
    """Raises when used."""
    raise RuntimeError("no use")
