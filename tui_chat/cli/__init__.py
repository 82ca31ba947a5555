"""The command line: the only composition root. Flags become a Config, a Config becomes a
wired app or a headless command.

app         opens the screen
build       prints the request that the app would send
serve       the offline provider on a loopback socket

Each command's module is imported when it is called: `--help` and the first frame need none
of the others. Bad input exits with 2 and one sentence.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tui_chat import __version__
from tui_chat.errors import TuiChatError

PROTOCOLS = ("openai_chat", "openai_responses", "anthropic", "gemini")
"""Spelled out: importing them would cost the first frame time."""

_FILE = click.Path(path_type=Path, allow_dash=False)


@click.group(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="tui-chat")
@click.option("--data-dir", type=_FILE, help="Where the database is kept.")
@click.option("--config-dir", type=_FILE, help="Where config.toml, presets and themes are.")
@click.option("--endpoint", help="The endpoint that new sessions use.")
@click.option("--model", help="The model that new sessions use.")
@click.option("--theme", help="The colour theme.")
@click.pass_context
def cli(
    context: click.Context,
    data_dir: Path | None,
    config_dir: Path | None,
    endpoint: str | None,
    model: str | None,
    theme: str | None,
) -> None:
    """A terminal chat client that shows exactly what the model will see.

    Without a command it opens the app. The first start needs no key and no network: it talks
    to a built-in offline provider.
    """
    context.obj = {
        "data_dir": data_dir,
        "config_dir": config_dir,
        "flags": {"endpoint": endpoint, "model": model, "theme": theme},
    }
    if context.invoked_subcommand is None:
        from tui_chat.cli.app import run_app

        run_app(**context.obj)


@cli.command()
@click.option("--preset", type=_FILE, help="A preset file; the plain one if none is named.")
@click.option("--history", type=_FILE, help="A JSON array or JSONL of messages.")
@click.option("--draft", default="", help="What the user is typing.")
@click.option("--protocol", type=click.Choice(PROTOCOLS), help="How the request is said.")
@click.option("--model", help="The model; it names the protocol where --protocol does not.")
@click.option("--endpoint", help="A configured endpoint.")
@click.option("--context-limit", type=click.IntRange(min=1), help="Tokens, input and output.")
@click.option("--reply-reserve", type=click.IntRange(min=0), help="Tokens kept for the reply.")
@click.option("--role", type=_FILE, help="A role file.")
@click.option("--profile", type=_FILE, help="A profile file.")
@click.option("--stream/--no-stream", default=True, help="Ask for a streamed reply.")
@click.option(
    "--show",
    type=click.Choice(["payload", "envelope", "request", "curl"]),
    default="payload",
    show_default=True,
    help="The exact body; the turns with their origins; the whole request; a curl command.",
)
@click.pass_obj
def build(settings: dict[str, object], **options: object) -> None:
    """Print the request that the app would send, byte for byte, and send nothing."""
    from tui_chat.cli.build import run_build

    run_build(settings, options)


@cli.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
def loopback(port: int, host: str) -> None:
    """Serve the offline provider on a loopback socket, for tests and other clients."""
    from tui_chat.cli.serve import run_loopback

    run_loopback(host, port)


def main() -> None:
    """Run the command line; our errors become one sentence and exit code 2."""
    try:
        cli(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        sys.exit(130)
    except TuiChatError as error:
        click.echo(f"Error: {error}" + (f" {error.advice}" if error.advice else ""), err=True)
        sys.exit(2)
    except BrokenPipeError:  # the reader had enough, as `head` does
        sys.stderr.close()
        sys.exit(0)
