"""The command line: the only composition root. Flags become a Config, a Config becomes a
wired app or a headless command.

commands    the commands and their flags
app         opens the screen
build       prints the request that the app would send
convert     says a request body in another protocol
read_reply  reads a recorded reply
endpoints   lists the providers, and tests whether one works
preset      checks presets (preset_check), runs their cases (preset_golden, preset_cases)
db          looks after the database file (its flags: db_commands)
imports     takes conversations in from files
exports     writes sessions to files
sessions    lists the sessions
search      finds what was said
view        opens the app on exported conversations, read-only
open_store  the database, for headless commands
interpreter sets Python up
serve       the offline provider on a loopback socket

Each command's module is imported when it is called: `--help` and the first frame need none
of the others. Bad input exits with 2 and one sentence.
"""

from __future__ import annotations

import io
import signal
import sys
import threading
from types import FrameType
from typing import NoReturn

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
    except TuiChatError as error:
        from tui_chat.model.visible import visible

        words = f"Error: {error}" + (f" {error.advice}" if error.advice else "")
        print(visible(words), file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:  # before a command could hear it: while modules are loaded
        sys.exit(130)
    except BrokenPipeError:  # the reader had enough, as `head` does
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # a full disk behind the standard output
        print(f"Error: the output cannot be written: {error.strerror}", file=sys.stderr)
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
        print("Error: the output cannot be written: it is closed", file=sys.stderr)
        sys.exit(1)
