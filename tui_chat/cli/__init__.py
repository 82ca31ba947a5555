"""The command line: the only composition root. Flags become a Config, a Config becomes a
wired app or a headless command.

commands, lazy_group, options, completion, common_options    what can be typed
app, workspace, names        the screen, or the workspace of a command, and what names stand for
output, documents            everything that is printed, sanitized; `--json` as values
all others                   the commands, most with the name of their module

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
from tui_chat.hooks import PluginFailed, watch_reports

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
    except OSError as error:  # such as a full disk behind the standard output
        write_error(f"the output cannot be written: {error.strerror}")
        discard()
        sys.exit(1)
    except Exception as error:
        if os.environ.get("TUI_CHAT_TRACEBACK"):
            raise
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
