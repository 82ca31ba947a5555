"""The commands and their flags, declared for click."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.exceptions import NoArgsIsHelpError

from tui_chat import __version__, extensions
from tui_chat.cli import completion
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.completion import PROGRAM, SHELLS
from tui_chat.cli.config_commands import CONFIG_COMMANDS
from tui_chat.cli.db import db
from tui_chat.cli.endpoint_commands import ENDPOINT_COMMANDS
from tui_chat.cli.library_commands import LIBRARY_COMMANDS
from tui_chat.cli.options import (
    FILE,
    INPUT,
    PROTOCOLS,
    TEXT,
    endpoint_option,
    file_argument,
    json_option,
    kind_option,
    model_option,
    preset_option,
    profile_option,
    request_endpoint,
    request_model,
    request_settings,
    role_option,
    session_option,
)
from tui_chat.cli.output import detect_closed_output, write_error, write_line, write_text
from tui_chat.cli.session_commands import SESSION_COMMANDS
from tui_chat.cli.tap_command import tap
from tui_chat.errors import TuiChatError
from tui_chat.extensions import CommandPath, Plugin
from tui_chat.models.endpoint import Protocol

_EARLIER_NAMES = {"preset": "presets"}
"""Commands that still work under another name."""


_HINTS = {
    "chat": "`tui-chat` without a command opens the app.",
    "help": "`tui-chat --help` lists the commands.",
    "logs": "`tui-chat sessions show` prints the last session, `tui-chat sessions list` lists all.",
    "history": "`tui-chat sessions list` lists the sessions, `tui-chat sessions show` prints one.",
}
"""Advice for commands of other programs that have another name here."""


class CommandLine(click.Group):
    """The commands of the core and of the plugins. A plugin's command is imported when it runs or
    its help is printed. The folder options may also follow the command, where most people write
    them.
    """

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with detect_closed_output():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Raises OutputClosed, which click does not catch, so that the exit status
        is ours.
        """
        try:
            with detect_closed_output():
                return super().invoke(ctx)
        except KeyboardInterrupt:  # click would print an empty line
            sys.exit(130)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name. Raises UsageError with advice."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            hint = _HINTS.get(args[0], "`tui-chat ask TEXT` sends a message.")
            if plugin := extensions.missing_plugin("commands", args[0]):
                hint = f"It comes with the plugin “{plugin}”, which is not installed."
            raise click.UsageError(f"{error.format_message()} {hint}", ctx) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        _enable_plugins(ctx)
        return sorted([*super().list_commands(ctx), *_plugin_commands()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with a name or with one of its earlier names."""
        name = _EARLIER_NAMES.get(cmd_name, cmd_name)
        if command := super().get_command(ctx, name):
            return command
        if name not in _plugin_commands():
            _enable_plugins(ctx)
        if found := _plugin_commands().get(name):
            plugin, command = found
            return extensions.load_part(plugin, command.path)
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands. Those of plugins are not imported for it."""
        names = self.list_commands(ctx)
        summaries = {name: command.summary for name, (_, command) in _plugin_commands().items()}
        for name, command in self.commands.items():
            summaries[name] = command.get_short_help_str(limit=80)
        with formatter.section("Commands"):
            formatter.write_dl([(name, summaries[name]) for name in names])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move the folder options to the front."""
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


def _plugin_commands() -> dict[str, tuple[Plugin, CommandPath]]:
    """Return the commands of the loaded plugins, by name."""
    return {
        each.name: (plugin, each) for plugin in extensions.plugins() for each in plugin.commands
    }


def _enable_plugins(context: click.Context) -> None:
    """Enable the plugins that the configuration names, before a command has read it."""
    folders = context.find_root().params
    with suppress(TuiChatError):  # a broken configuration is the command's to report
        CommonOptions(folders.get("data_dir"), folders.get("config_dir")).config()


@click.group(
    cls=CommandLine,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="tui-chat")
@click.option("--data-dir", type=FILE, is_eager=True, help="The folder of the database.")
@click.option(
    "--config-dir",
    type=FILE,
    is_eager=True,  # before --help, which lists the commands of plugins that it enables
    help="The folder of config.toml, presets and themes.",
)
@endpoint_option("The endpoint that new sessions use.")
@model_option("The model that new sessions use.")
@click.option("--theme", help="The color theme.")
@click.pass_context
def cli(context: click.Context, **options: Any) -> None:
    """A terminal chat client that shows exactly what the model will see.

    Without a command, open the app. The first start needs no key and no network: it uses a
    built-in offline provider.
    """
    context.obj = CommonOptions(**options)
    if context.invoked_subcommand is None:
        from tui_chat.cli.app import run_app

        run_app(context.obj)


@cli.command()
@click.argument("words", metavar="[TEXT]...", nargs=-1, type=TEXT)
@click.option("-c", "--continue", "last", is_flag=True, help="Continue the last session.")
@session_option("Continue a session: its id, start of it, or title.", "-s", default="")
@click.option("--attach", "attachments", type=INPUT, multiple=True, help="A file; repeatable.")
@click.option(
    "--system",
    default="",
    metavar="TEXT",
    type=TEXT,
    help="A system message before it, instead of a role.",
)
@role_option('The role of a new session; "" for none.')
@preset_option('A preset; "" for none.')
@profile_option('A profile; "" for none.')
@click.option(
    "--bare", is_flag=True, help="Send only the conversation: no role, preset, profile or tools."
)
@request_model
@request_endpoint
@request_settings
@kind_option("What to generate. With quiet, TEXT is the prompt; the others need none.")
@click.option("--schema", type=INPUT, metavar="FILE", help="The JSON Schema of the reply.")
@click.option("--temporary", is_flag=True, help="Write nothing of it to disk.")
@click.option("--no-stream", "stream", flag_value=False, default=True, help="Request it whole.")
@click.option("--raw", is_flag=True, help="Text as it is: no Markdown, no line break at the end.")
@click.option("-x", "--extract", is_flag=True, help="Print only the first code block.")
@json_option("Print the reply and its facts as JSON.")
@click.option(
    "--save-to",
    type=FILE,
    metavar="FOLDER",
    help="Where pictures and files of the reply are saved; default: the current folder.",
)
@click.option("--anyway", is_flag=True, help="Send a request that exceeds the context limit.")
@click.pass_obj
def ask(common: CommonOptions, parameters: tuple[str, ...], **options: Any) -> None:
    """Send a message and print the reply.

    TEXT is the message. The standard input is added if it is a pipe, or for -. New sessions use the
    app's defaults and appear in the app immediately. Options apply to this message and, if it
    starts a session, to that session.

    The reply goes to the standard output, as Markdown on a terminal; everything else, such as its
    sources, goes to the standard error stream. If the standard output is not a terminal, the rules
    for the screen that come with the program (of the preset “plain” and the role “Assistant”) are
    not sent. Tools run after you agree on the terminal. Ctrl+C stops the reply and keeps what
    arrived; if nothing could be sent, no session is stored.

    \b
    Examples:
      tui-chat ask "Why is the sky blue?"
      tui-chat ask -c "And at sunset?"
      git diff | tui-chat ask -m gpt-5 --bare "Write a commit message"
      tui-chat ask -x "A shell script that counts words" > count.sh
      tui-chat ask "What is on this picture?" --attach photo.png
      tui-chat ask "Three fruits" --schema fruits.json --json
      tui-chat ask -c --kind continue

    \b
    Exit codes: 0 done, 2 wrong input, 3 no key, 4 unreachable, 5 refused by the provider,
    6 incomplete reply, 7 database, 8 a tool call needs you, 130 Ctrl+C, 141 output closed.
    """
    from tui_chat.cli.ask import Question, run_ask
    from tui_chat.cli.workspace import Choices

    names = ("endpoint", "model", "role", "preset", "profile")
    choices = Choices(**{name: options.pop(name) for name in names}, settings=parameters)
    run_ask(common, Question(choices=choices, **options))


@cli.command()
@click.argument("words", metavar="[TEXT]...", nargs=-1, type=TEXT)
@session_option("A stored session: its id, the start of one, or its title.")
@click.option(
    "--preset",
    shell_complete=completion.complete_preset_or_file,
    metavar="FILE|NAME",
    help='Default: the role\'s preset, else plain; "" for none.',
)
@click.option("--history", type=INPUT, help="A JSON array or JSONL of messages.")
@click.option(
    "--turn", type=INPUT, help="A turn exported by the app, whose request is composed again."
)
@click.option(
    "--draft", metavar="TEXT", type=TEXT, help="TEXT, as an option; default: the stored draft."
)
@kind_option("What to generate; with quiet, the draft is the prompt.")
@click.option("--protocol", type=click.Choice(PROTOCOLS), help="The protocol of the request.")
@request_model
@request_endpoint
@click.option(
    "--context-limit", type=click.IntRange(min=1), help="Context limit in tokens, input and output."
)
@click.option("--reply-reserve", type=click.IntRange(min=0), help="Tokens reserved for the reply.")
@click.option(
    "--role",
    shell_complete=completion.complete_role_or_file,
    metavar="FILE|NAME",
    help='Default: the role used last; "" for none.',
)
@click.option(
    "--profile",
    shell_complete=completion.complete_profile_or_file,
    metavar="FILE|NAME",
    help='Default: the profile used last; "" for none.',
)
@click.option(
    "--lorebook", "lorebooks", type=INPUT, multiple=True, help="A lorebook file; repeatable."
)
@request_settings
@click.option(
    "--variable",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="A variable for {{getvar::NAME}}; repeatable.",
)
@click.option(
    "--at", metavar="TIME", help="The time for macros, such as 2025-06-30T18:05; default: now."
)
@click.option("--seed", type=int, default=0, help="The random seed for macros.")
@click.option("--stream/--no-stream", default=True, help="Request a streamed reply.")
@click.option(
    "--show",
    type=click.Choice(["payload", "envelope", "request", "curl", "lore"]),
    default="payload",
    show_default=True,
    help="The exact body; the turns with their origins; the whole request; a curl command; why "
    "each lore entry is active or not, in every turn.",
)
@click.pass_obj
def build(common: CommonOptions, **options: object) -> None:
    """Print the request that the app would send.

    Without options it is that of a new chat with an empty draft: endpoint, model, role, profile and
    tools are those that the app begins one with. With --session it is the next request of a stored
    session. A FILE may be - for the standard input, and so may the draft.

    The bytes are exact, and nothing is sent or stored. On a terminal, control and invisible
    characters are printed as JSON escapes.

    \b
    Examples:
      tui-chat build "Hello"
      tui-chat build --session "A walk" --draft - < question.txt
      tui-chat build --preset my.json --role "" --model gpt-5 --show curl
    """
    from tui_chat.cli.build_request import run_build

    run_build(common, options)


@cli.command()
@file_argument
@click.option(
    "--from",
    "source",
    type=click.Choice(PROTOCOLS),
    help="The protocol of FILE; default: detected.",
)
@click.option(
    "--to",
    "target",
    type=click.Choice(PROTOCOLS),
    required=True,
    help="The protocol to convert to.",
)
@model_option("Replace the model. (Gemini requests have theirs in the URL.)", default="")
@endpoint_option("Encode for this endpoint's models; default: for any server.", default="")
@click.option("--report", is_flag=True, help='Print a JSON object with "body" and "notes".')
@click.pass_obj
def convert(
    common: CommonOptions,
    file: Path,
    source: str | None,
    target: str,
    model: str,
    endpoint: str,
    report: bool,
) -> None:
    """Convert a request body to another protocol.

    FILE may be - for the standard input. Without --from, the body may also be inside other text,
    such as a curl command. Changes and losses are reported on the standard error stream, or with
    --report as notes. Converted to its own protocol, a request stays the same.

    \b
    Examples:
      tui-chat convert request.json --to gemini --report
      pbpaste | tui-chat convert - --to anthropic --model claude-sonnet-4-5
    """
    from tui_chat.cli.captured import run_convert

    ways = Protocol(source) if source else None, Protocol(target)
    run_convert(common, file, *ways, model=model, endpoint=endpoint, report=report)


@cli.command()
@file_argument
@click.option("--call", type=click.IntRange(min=1), help="Of a HAR file: the number of a call.")
@json_option("Of a HAR file: print JSON.")
@click.pass_obj
def inspect(common: CommonOptions, file: Path, call: int | None, as_json: bool) -> None:
    """Open a captured request in the inspector.

    FILE, or - for the standard input, is a request body of any protocol, text that contains one (a
    curl command, a log line), or an exported turn, which is composed again. The inspector explains
    and converts it, and can make a session and a preset of it.

    Of a HAR file, list the provider calls; open the one of --call, or explain it with --json, in
    the form of `tap --json`.

    \b
    Example:
      tui-chat inspect request.json
    """
    from tui_chat.cli.captured import run_inspect

    run_inspect(common, file, call, as_json=as_json)


@cli.command()
@file_argument
@click.option(
    "--protocol",
    "--from",
    type=click.Choice(PROTOCOLS),
    help="The protocol of the reply; default: detected.",
)
def read(file: Path, protocol: str | None) -> None:
    """Parse a recorded reply and print it as JSON.

    FILE, or - for the standard input, is an event stream or JSON. Prints a JSON object with
    "content", "reasoning", "tool_calls", "finish_reason", "provider_finish_reason", "usage" (its
    input includes cached tokens, its output reasoning) and "error". A reply that was cut or refused
    is parsed as far as it goes.

    \b
    Example:
      tui-chat read reply.sse
    """
    from tui_chat.cli.captured import run_read

    run_read(file, Protocol(protocol) if protocol else None)


@cli.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@click.option("--alias", default="", metavar="MODEL", help="Answers for unknown model names.")
@click.option("--script", type=FILE, help="A JSON file that the model “script” plays.")
def loopback(port: int, host: str, alias: str, script: Path | None) -> None:
    """Serve the offline provider on a loopback address.

    \b
    Example:
      tui-chat loopback --port 8765
    """
    from tui_chat.cli.endpoints import run_loopback

    run_loopback(host, port, alias, script)


@cli.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def completion_command(shell: str) -> None:
    """Print the script for completion in a shell.

    It completes commands, options, files, and the names of sessions, presets, roles, profiles,
    models and endpoints.

    \b
    Examples, each for the file that the shell reads at its start:
      bash (~/.bashrc)    eval "$(tui-chat completion bash)"
      zsh (~/.zshrc)      eval "$(tui-chat completion zsh)"   (after compinit)
      fish (~/.config/fish/config.fish)    tui-chat completion fish | source
      powershell ($PROFILE)    tui-chat completion powershell | Out-String | Invoke-Expression
    """
    write_text(completion.script(cli, shell))


@cli.command()
@json_option()
@click.pass_obj
def plugins(common: CommonOptions, as_json: bool) -> None:
    """List the plugins: those that come with the program, and the installed ones of other people.

    A plugin of other people is loaded if `[plugins] enabled` in config.toml has its name.

    \b
    Example:
      tui-chat plugins
    """
    from tui_chat.cli.plugins import list_plugins

    list_plugins(common, as_json=as_json)


def _complete_page(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    from tui_chat.cli.docs import page_names

    return [name for name in page_names() if name.startswith(typed)]


@cli.command()
@click.argument("page", default="", type=TEXT, shell_complete=_complete_page)
def docs(page: str) -> None:
    """Print a page of the documentation, or list the pages.

    \b
    Examples:
      tui-chat docs
      tui-chat docs presets
    """
    from tui_chat.cli.docs import list_pages, print_page

    if page:
        print_page(page)
    else:
        list_pages()


for _command in (
    *SESSION_COMMANDS,
    *LIBRARY_COMMANDS,
    *ENDPOINT_COMMANDS,
    *CONFIG_COMMANDS,
    tap,
    db,
):
    cli.add_command(_command)


def run() -> None:
    """Run the command that the arguments name. Raises our errors; exits on click's."""
    try:
        cli(standalone_mode=False, prog_name=PROGRAM)
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
