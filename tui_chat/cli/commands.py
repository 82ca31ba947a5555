"""The commands and their flags, as click wants them declared."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from click.exceptions import NoArgsIsHelpError

from tui_chat import __version__
from tui_chat.cli.db import db
from tui_chat.cli.output import noticing_the_end, write_error, write_line
from tui_chat.cli.session_commands import COMMANDS

PROTOCOLS = ("openai_chat", "openai_responses", "anthropic", "gemini")
"""Spelled out: importing them would cost the first frame time."""

_FILE = click.Path(path_type=Path, allow_dash=False)
_INPUT = click.Path(path_type=Path, allow_dash=True)


class _Folders(click.Group):
    """A group whose folders can be named behind the command too, where most people write them."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the arguments; print help where that is asked for. Raises OutputClosed."""
        with noticing_the_end():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Raises OutputClosed, which click does not know, so that the exit
        status is ours.
        """
        with noticing_the_end():
            return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Bring the folders to the front."""
        end = args.index("--") if "--" in args else len(args)
        words, literal = iter(args[:end]), args[end:]
        folders: list[str] = []
        others: list[str] = []
        for word in words:
            if word in ("--data-dir", "--config-dir") and (value := next(words, "")):
                folders += [word, value]
            elif word.startswith(("--data-dir=", "--config-dir=")):
                folders.append(word)
            else:
                others.append(word)
        return super().parse_args(ctx, [*folders, *others, *literal])


@click.group(
    cls=_Folders,
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
@click.option(
    "--preset",
    type=_FILE,
    help="A preset file, or the name of a preset; else the role's preset, else the plain one.",
)
@click.option("--history", type=_FILE, help="A JSON array or JSONL of messages.")
@click.option(
    "--turn", type=_FILE, help="A turn that the app exported: its request is composed again."
)
@click.option("--draft", default="", help="What the user is typing.")
@click.option("--protocol", type=click.Choice(PROTOCOLS), help="How the request is said.")
@click.option("--model", help="The model; it names the protocol where --protocol does not.")
@click.option("--endpoint", help="A configured endpoint.")
@click.option("--context-limit", type=click.IntRange(min=1), help="Tokens, input and output.")
@click.option("--reply-reserve", type=click.IntRange(min=0), help="Tokens kept for the reply.")
@click.option("--role", type=_FILE, help="A role file.")
@click.option("--profile", type=_FILE, help="A profile file.")
@click.option(
    "--lorebook", "lorebooks", type=_FILE, multiple=True, help="A lorebook file; may be repeated."
)
@click.option(
    "--variable", "variables", multiple=True, metavar="NAME=VALUE", help="For {{getvar::NAME}}."
)
@click.option("--at", metavar="TIME", help="The time for macros, as 2025-06-30T18:05; else now.")
@click.option("--seed", type=int, default=0, help="Chance, for macros.")
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
    """Print the request that the app would send, byte for byte, and send nothing.

    On a terminal, characters that it would obey or not show are printed as JSON escapes.
    """
    from tui_chat.cli.build import run_build

    run_build(settings, options)


@cli.command()
@click.argument("file", type=_INPUT)
@click.option(
    "--from", "source", type=click.Choice(PROTOCOLS), help="Whose request it is; told by its keys."
)
@click.option("--to", "target", type=click.Choice(PROTOCOLS), required=True, help="How to say it.")
@click.option("--model", default="", help="The model to ask instead; Gemini's is in the URL.")
@click.option(
    "--endpoint", default="", help="For this endpoint's models; else what every server takes."
)
@click.option("--report", is_flag=True, help='Print {"body", "notes"}.')
@click.pass_obj
def convert(
    settings: dict[str, object],
    file: Path,
    source: str | None,
    target: str,
    model: str,
    endpoint: str,
    report: bool,
) -> None:
    """Say a request body (FILE, or - for the standard input) in another protocol.

    Without --from a body may also be inside something else, such as a curl command.
    What is changed or left out on the way is told on the standard error stream, or with
    --report among the notes. In its own protocol a request comes back as it was.
    """
    from tui_chat.cli.convert import run_convert
    from tui_chat.models.endpoint import Protocol

    ways = Protocol(source) if source else None, Protocol(target)
    run_convert(settings, file, *ways, model=model, endpoint=endpoint, report=report)


@cli.command()
@click.argument("file", type=_INPUT)
@click.pass_obj
def inspect(settings: dict[str, object], file: Path) -> None:
    """Open a captured request (FILE, or - for the standard input) in the inspector.

    A body of any of the four protocols, or something that has one in it: a curl command, a log
    line; or an exported turn, composed again. It is explained there, converted, and becomes a
    session and a preset if that is wanted.
    """
    from tui_chat.cli.captured import run_inspect

    run_inspect(settings, file)


@cli.command()
@click.argument("file", type=_INPUT)
@click.option("--protocol", type=click.Choice(PROTOCOLS), required=True, help="Whose reply it is.")
def read(file: Path, protocol: str) -> None:
    """Read a reply (FILE, or - for the standard input): a stream of events, or JSON.

    Prints "content", "reasoning", "tool_calls", "finish_reason", "provider_finish_reason",
    "usage" and "error" as a JSON object; counts are the provider's own figures. A reply that
    was cut or refused is read as far as it came.
    """
    from tui_chat.cli.captured import run_read
    from tui_chat.models.endpoint import Protocol

    run_read(file, Protocol(protocol))


@cli.group()
def preset() -> None:
    """Check presets, test what comes of them, and take SillyTavern's in."""


@preset.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=_FILE)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list, for programs.")
def preset_check(files: tuple[Path, ...], as_json: bool) -> None:
    """Tell everything doubtful about presets (and lorebooks), with path and line.

    A folder stands for the JSON files directly in it. Exits with 1 where there is an error.
    """
    from tui_chat.cli.preset import run_check

    run_check(files, as_json)


@preset.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=_FILE)
@click.option("--name", default="", help="What the preset is to be called; else as its file.")
@click.pass_obj
def preset_import(settings: dict[str, object], files: tuple[Path, ...], name: str) -> None:
    """Make presets of SillyTavern's chat completion presets, in the presets folder.

    Prints where each is; what was not taken over as it was is told on the standard error stream.
    """
    from tui_chat.cli.preset import run_import

    run_import(settings, files, name)


@preset.command("test")
@click.argument(
    "folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(True, path_type=Path)
)
@click.option("--update", is_flag=True, help="Show what changed, and expect it from now on.")
def preset_test(folders: tuple[Path, ...], update: bool) -> None:
    """Run the cases in a folder and below it. Exits with 1 where one fails.

    A case is a JSON file with "preset" and "expected"; other files are left alone. A preset,
    history, role, profile or lorebook stands in the case, or in a file named relative to it.

    \b
    {
      "preset": "../concise.json",
      "history": [{"role": "user", "content": "Hi"},
                  {"role": "assistant", "content": "Hello."}],
      "draft": "Who are you?",
      "role": {"name": "Ada", "system_prompt": "You are {{char}}."},
      "profile": {"name": "Kim", "content": "Kim likes short answers."},
      "lorebooks": ["../lorebooks/town.json"],
      "variables": {"tone": "dry"},
      "at": "2025-06-30T18:05",  "seed": 7,
      "model": "gpt-4o",  "limit": 4096,  "reserve": 512,
      "expected": [
        {"role": "system", "content": "You are Ada."},
        {"role": "user", "content": "Hi", "origin": "history:1"},
        ...
      ]
    }

    Only "preset" and "expected" are needed. "limit" and "reserve" are tokens. An expected turn
    has "role" and "content"; "origin" ("preset", or "preset:reminder") and "placement"
    ("depth", or "depth 3") are compared where it has them. docs/presets.md tells the rest.
    """  # noqa: D301 -- click wants the character itself
    from tui_chat.cli.preset import run_test

    run_test(folders, update)


@cli.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
def loopback(port: int, host: str) -> None:
    """Serve the offline provider on a loopback socket, for tests and other clients."""
    from tui_chat.cli.endpoints import run_loopback

    run_loopback(host, port)


@cli.group()
def endpoints() -> None:
    """Show the configured providers, and test whether one works."""


@endpoints.command("list")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option("--discover", "look", is_flag=True, help="Look for servers on this machine.")
@click.pass_obj
def endpoints_list(settings: dict[str, object], as_json: bool, look: bool) -> None:
    """List all endpoints: the ready-made ones and those of config.toml."""
    from tui_chat.cli.endpoints import run_list

    run_list(settings, as_json=as_json, look=look)


@endpoints.command("test")
@click.argument("name")
@click.option("--model", default="", help="The model to ask; the endpoint's first if none.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def endpoints_test(settings: dict[str, object], name: str, model: str, as_json: bool) -> None:
    """Try an endpoint: its key, its server, its models, and a tiny real chat.

    Exits with 1 where something does not work.
    """
    from tui_chat.cli.endpoints import run_test

    if not run_test(settings, name, model, as_json=as_json):
        sys.exit(1)


cli.add_command(db)
for _command in COMMANDS:
    cli.add_command(_command)


def run() -> None:
    """Run the command that the arguments name. Raises our errors; exits for click's."""
    try:
        cli(standalone_mode=False)
    except NoArgsIsHelpError as error:
        write_line(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        if context is not None:
            write_line(context.get_usage(), err=True)
            write_line(f"Try '{context.command_path} --help' for help.\n", err=True)
        write_error(error.format_message())
        sys.exit(2)
    except click.Abort:
        sys.exit(130)
