"""The command line: the only composition root. Flags become a Config, a Config becomes a
wired app or a headless command.

commands          the table of all commands (lazy_group: imports one when it runs; options: what
                  several of them declare; common_options: those before the command)
app               opens the screen: the composition root, with the store and the HTTP client
workspace         opens the workspace of a command, and uses what a command line chooses
names             finds sessions and others by what a command line calls them
output            everything that is printed, sanitized
interpreter       settings of Python and the C library

ask               sends a message (question: reads it; ask_output: prints the reply;
                  markdown_output: on a terminal; tool_consent: asks before a tool runs)
build             prints the request that ask would send (request_json: its envelope)
captured          opens or converts a captured request
read              reads a recorded reply
library           what the commands about the next four share: list, show, export
presets           lists, shows, checks, imports and exports presets
models            lists models
endpoints         lists the endpoints, prints facts
loopback          serves the offline provider
plugins           lists the plugins
usage             prints what replies cost
config            shows, opens and checks config.toml
keys              keys in the system's keyring
docs              prints the documentation
completion        names for the shells' completion
db                maintains the database file
import_files      reads conversations and character cards from files
export            writes sessions to files
sessions          lists, shows, renames, tags, archives, deletes and forks sessions

A command is imported when it runs, so `--help` and the first frame load none. An error is one
sentence and an exit code (`EXIT_CODES`). If the reader of the output closes the pipe (`| head`), a
command ends without a message and with 141, like other tools.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from types import FrameType
from typing import NoReturn

from tui_chat import hooks
from tui_chat.cli.output import CLOSED, OutputClosed, discard, finish, write_error
from tui_chat.errors import (
    InputError,
    KeyMissing,
    NeedsUser,
    ProviderError,
    Refused,
    StoreError,
    TuiChatError,
    Unreachable,
)
from tui_chat.hooks import PluginFailed, failed, watch_reports

EXIT_CODES: tuple[tuple[type[TuiChatError], int], ...] = (
    (KeyMissing, 3),
    (NeedsUser, 8),
    (InputError, 2),
    (Unreachable, 4),
    (Refused, 5),
    (ProviderError, 6),
    (StoreError, 7),
)
"""The exit code of each kind of error; the first that fits counts. Anything else exits with 1."""


def main() -> None:
    """Run the command line. Prints our errors as a sentence; their kind is the exit code."""
    _open_streams()
    watch_reports(lambda fault: write_error(str(fault)))
    try:
        _unwind_on_signals()
        # With nothing to parse the first frame does not wait for click.
        if len(sys.argv) == 1 and "_TUI_CHAT_COMPLETE" not in os.environ:
            from tui_chat.cli.app import run_app
            from tui_chat.cli.common_options import CommonOptions

            run_app(CommonOptions())
        else:
            from tui_chat.cli.commands import run

            run()
        finish()
    except TuiChatError as error:
        if isinstance(error, PluginFailed) and os.environ.get("TUI_CHAT_TRACEBACK"):
            raise
        write_error(str(error), error.advice)
        if isinstance(error, PluginFailed) and error.fault.part:
            sys.exit(1)
        sys.exit(next((code for kind, code in EXIT_CODES if isinstance(error, kind)), 1))
    except KeyboardInterrupt:  # while modules are loaded, before a command handles it
        sys.exit(130)
    except (OutputClosed, BrokenPipeError):  # as with `| head`
        discard()
        sys.exit(CLOSED)
    except OSError as error:  # a full disk behind the standard output
        write_error(f"the output cannot be written: {error.strerror}")
        discard()
        sys.exit(1)
    except Exception as error:
        if os.environ.get("TUI_CHAT_TRACEBACK"):
            raise
        if (plugin := hooks.plugin_in(error)) is not None:
            write_error(str(failed(plugin.name, "code", error)))
            sys.exit(1)
        write_error(
            f"Internal error: {type(error).__name__}: {error}.",
            "Please report it. TUI_CHAT_TRACEBACK=1 prints the traceback.",
        )
        sys.exit(1)


def _unwind_on_signals() -> None:
    """Make SIGTERM and SIGHUP end a command like an exception, with exit code 128 plus the
    signal's number, so that temporary and half-written files are removed.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _exit_for_signal)


def _exit_for_signal(number: int, _: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def _open_streams() -> None:
    """Replace a closed input or error stream (`<&-`); exit with 1 if the output is closed."""
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BytesIO())
    if sys.stderr is None:
        sys.stderr = io.StringIO()
    if sys.stdout is None:
        write_error("the output cannot be written: it is closed")
        sys.exit(1)
    for stream in (sys.stdout, sys.stderr):  # for characters that the encoding lacks
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
