"""The process from which `tests.support.program` forks `tui-chat`: it imports the program once.

    python -m tests.support.program_forks DESCRIPTOR

DESCRIPTOR is a socket. Each request on it is a JSON object and four descriptors: the three standard
streams, and a socket that is told the program's process id, and its exit code at the end.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import termios
import threading
import traceback
from contextlib import redirect_stdout, suppress
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import tui_chat
from tui_chat.cli import main

FIRST_FREE = 3
"""The first descriptor after the standard streams."""


def import_all() -> None:
    """Import all modules of the program, and what a command that sends a message loads beside."""
    for module in pkgutil.walk_packages(tui_chat.__path__, "tui_chat."):
        try:
            importlib.import_module(module.name)
        except ImportError:  # of something optional
            continue
    with TemporaryDirectory() as home, redirect_stdout(io.TextIOWrapper(io.BytesIO())):
        folders = ("--data-dir", home, "--config-dir", home)
        sys.argv = ["tui-chat", *folders, "ask", "Hello", "--model", "echo"]
        code = exit_code()
    assert code == 0
    for thread in threading.enumerate():  # a fork has only the thread that forks
        if thread is not threading.current_thread():
            thread.join(10)
    assert threading.active_count() == 1, threading.enumerate()


def serve(requests: socket.socket) -> None:
    """Fork a program for each request until the socket is closed."""
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    running: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([requests, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            report_ended(running)
        if requests not in ready:
            continue
        message, descriptors, _, _ = socket.recv_fds(requests, 1 << 20, 4)
        if not message:
            return
        *streams, reports = descriptors
        connection = socket.socket(fileno=reports)
        if (pid := os.fork()) == 0:
            run(json.loads(message), streams)
        for each in streams:
            os.close(each)
        connection.send(str(pid).encode())
        running[pid] = connection


def report_ended(running: dict[int, socket.socket]) -> None:
    """Tell the exit codes of programs that have ended."""
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with running.pop(pid) as connection, suppress(BrokenPipeError):  # nobody asks
            connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def run(request: dict[str, Any], streams: list[int]) -> NoReturn:
    """Be the program: set what a started process has of its own, run it, and end."""
    code = 1
    try:
        prepare(request, streams)
        code = exit_code()
        threading._shutdown()  # pyright: ignore
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(code)


def prepare(request: dict[str, Any], streams: list[int]) -> None:
    """Take over arguments, environment, folder, streams, signals and session."""
    atexit._clear()  # pyright: ignore
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if request["session"]:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(FIRST_FREE, os.sysconf("SC_OPEN_MAX"))
    if request["terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(request["cwd"])
    if request["umask"] >= 0:
        os.umask(request["umask"])
    before = os.environ.get("PYTHONPATH", "")
    os.environ.clear()
    os.environ.update(request["environ"])
    if (added := os.environ.get("PYTHONPATH", "")) != before:
        sys.path[1:1] = added.split(os.pathsep)
    sys.argv = request["argv"]
    sys.stdin = sys.__stdin__ = opened(0, "r", "strict")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = opened(1, "w", "strict")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = opened(2, "w", "backslashreplace")  # type: ignore[misc]


def opened(descriptor: int, mode: str, errors: str) -> io.TextIOWrapper:
    """Open a standard stream as Python does."""
    lines = descriptor == 2 or os.isatty(descriptor)
    return open(descriptor, mode, 1 if lines else -1, "utf-8", errors, closefd=False)


def exit_code() -> int:
    """Run the command line; return its exit code as Python gives it to the system."""
    try:
        main()
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        print(error.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        traceback.print_exc()
        return 130
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    requests = socket.socket(fileno=int(sys.argv[1]))
    import_all()
    gc.collect()
    gc.freeze()
    serve(requests)
