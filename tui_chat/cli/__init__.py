"""The command line: the only composition root. Flags become a Config, a Config becomes a
wired app or a headless command.

commands          the commands and their flags; session_commands: those about conversations
app               opens the screen: the composition root, with the store and the HTTP client
build             prints the request that the app would send, or its envelope
convert           converts a request body to another protocol
captured          opens a captured request, reads a recorded reply
preset            checks, imports and tests presets (the format of test cases: preset_cases)
endpoints         lists and tests the providers (endpoint_checks), serves the offline one
db                maintains the database file
import_export     conversations from files and to files
sessions          lists and searches sessions
view              opens the app on exported conversations, read-only
output            everything that is printed, made harmless
files             files that commands are given, `-` among them
interpreter       settings of Python and the C library

Each command's module is imported when it is called: `--help` and the first frame need none
of the others. Bad input exits with 2 and one sentence.
A reader that closes the pipe (`| head`) ends a command quietly, with 141 as other tools are.
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
from tui_chat.errors import TuiChatError


def main() -> None:
    """Run the command line; our errors become one sentence and exit code 2."""
    _open_streams()
    try:
        _unwind_on_signals()
        if len(sys.argv) == 1:  # nothing to parse: the first frame need not wait for a parser
            from tui_chat.cli.app import run_app

            run_app(None, None, {})
        else:
            from tui_chat.cli.commands import run

            run()
        finish()
    except TuiChatError as error:
        write_error(str(error), error.advice)
        sys.exit(2)
    except KeyboardInterrupt:  # before a command could hear it: while modules are loaded
        sys.exit(130)
    except (OutputClosed, BrokenPipeError):  # the reader had enough, as `head` has
        discard()
        sys.exit(CLOSED)
    except OSError as error:  # a full disk behind the standard output
        write_error(f"the output cannot be written: {error.strerror}")
        discard()
        sys.exit(1)
    except Exception as error:
        if os.environ.get("TUI_CHAT_TRACEBACK"):
            raise
        write_error(
            f"tui-chat failed, which is a fault of the program: {type(error).__name__}: {error}.",
            "Please report it; with TUI_CHAT_TRACEBACK=1 set it shows where it failed.",
        )
        sys.exit(1)


def _unwind_on_signals() -> None:
    """Have SIGTERM and SIGHUP end a command as an exception does, with exit code 128 and the
    signal's number: temporary files go, and a half-written output file is not left behind.
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
    """Stand in for a closed input or error stream, for which Python has None (`<&-`); exit with 1
    where the output is closed.
    """
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BytesIO())
    if sys.stderr is None:
        sys.stderr = io.StringIO()
    if sys.stdout is None:
        write_error("the output cannot be written: it is closed")
        sys.exit(1)
    for stream in (sys.stdout, sys.stderr):  # what the terminal's encoding lacks is spelled out
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
