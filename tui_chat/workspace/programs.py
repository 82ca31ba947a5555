"""The programs that answer tool calls: where they are, what they consist of, what they are told.

1. A program is looked up once, when the configuration is read, and started from that path.
2. Permission to run it is bound to the content of its file, and of the files that its command line
   names (`content_digest`): a script given to an interpreter is what runs.
3. It gets few variables of our environment (`inherited`), and those that its configuration adds.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import file_digest, sha256
from pathlib import Path
from stat import S_ISREG

from tui_chat.errors import ConfigError
from tui_chat.models.endpoint import looks_secret

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
"""`${NAME}` and `${NAME:-default}` in a value of the configuration."""
_INHERITED = re.compile(
    "HOME|LOGNAME|PATH|SHELL|TERM|USER|LANG|LC_.*|TZ|TMPDIR|XDG_.*|SSL_CERT_(FILE|DIR)|"
    "(http|https|all|no)_proxy|HTTP_PROXY|HTTPS_PROXY|ALL_PROXY|NO_PROXY|"
    # Windows
    "APPDATA|COMSPEC|HOMEDRIVE|HOMEPATH|LOCALAPPDATA|PATHEXT|PROGRAM.*|SYSTEM.*|TEMP|TMP|"
    "USERNAME|USERPROFILE|WINDIR"
)


def located(command: Sequence[str], folder: str = "", path: str | None = None) -> tuple[str, ...]:
    """Return a command line with the absolute path of its program, which is looked up in `path`
    (None: the variable PATH) or, with a slash in it, in `folder` (empty: the working folder). A
    program that is not found stays as it is.
    """
    if not command:
        return ()
    program, *arguments = command
    if os.path.dirname(program):
        program = os.path.join(folder, program)
    found = shutil.which(program, path=path)
    return (os.path.abspath(found) if found else command[0], *arguments)


def files_of(command: Sequence[str], folder: str = "") -> tuple[str, ...]:
    """Return the absolute paths of the program of a `located` command line, and of the files and
    folders that its arguments name; none if there is no such program.
    """
    if not command or not os.path.isabs(command[0]):
        return ()
    named = (os.path.abspath(os.path.join(folder, word)) for word in command[1:] if word)
    return (command[0], *(path for path in named if _exists(path)))


def _exists(path: str) -> bool:
    try:
        return os.path.exists(path)
    except ValueError:  # a NUL
        return False


_digests: dict[tuple[str, int, int, int, int], str] = {}
"""SHA-256 of files, by path, inode, size and times."""


def content_digest(files: Iterable[str]) -> str:
    """Return the SHA-256 of the contents of files; empty for none of them, and for one that is
    gone. Of a file that must not be read, its identity and its times count.
    """
    digest, is_any = sha256(), False
    for path in files:
        try:
            status = os.stat(path)
        except OSError:
            return ""
        is_any = True
        key = (path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if not S_ISREG(status.st_mode):
            found = ""
        elif (found := _digests.get(key, "")) == "":
            try:
                with Path(path).open("rb") as file:
                    found = file_digest(file, "sha256").hexdigest()
            except OSError:
                found = repr(key)
            _digests[key] = found
        digest.update(f"{path}\0{found}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest() if is_any else ""


def inherited(environ: Mapping[str, str], hidden: Collection[str] = ()) -> dict[str, str]:
    """Return the variables that a program gets of ours: those for folders, language, certificates
    and proxies. `hidden` are those that hold keys.
    """
    return {
        name: value
        for name, value in environ.items()
        if _INHERITED.fullmatch(name) and name not in hidden
    }


def shown_variables(env: Iterable[tuple[str, str]]) -> str:
    """Return what a configuration adds to an environment as the beginning of a command line. A
    value is left out if it is more than one variable: it may be a key.
    """

    def shown(value: str) -> str:
        match = VARIABLE.fullmatch(value)
        return shlex.quote(value) if match and not match[2] else "…"

    return "".join(f"{name}={shown(value)} " for name, value in env)


def expanded(text: str, table: str, environ: Mapping[str, str], hidden: Collection[str]) -> str:
    """Return a value of a table of the configuration with the values of variables.

    Raises ConfigError for a variable that is not set, or is `hidden` since it holds a key.
    """

    def value_of(match: re.Match[str]) -> str:
        name, default = match.groups()
        if name in hidden:
            raise ConfigError(
                f"{table}: the variable {name} holds a credential of an endpoint, which no other "
                "program gets.",
                advice="Use a variable with another name for the program's own key.",
            )
        value = environ.get(name) or default
        if value is None:
            raise ConfigError(
                f"{table}: the environment variable {name} is not set.",
                advice=f"Set {name} and start again, or write ${{{name}:-DEFAULT}}.",
            )
        return value

    return VARIABLE.sub(value_of, text)


def secret_values(env: Iterable[tuple[str, str]], environ: Mapping[str, str]) -> frozenset[str]:
    """Return the values that may be keys in the variables which a configuration adds: those of
    variables of ours that not every program gets, and what looks like one. They are masked where
    the program repeats them.
    """
    found: set[str] = set()
    for _, value in env:
        variables = [match[1] for match in VARIABLE.finditer(value)]
        found |= {environ.get(each, "") for each in variables if not _INHERITED.fullmatch(each)}
        is_place = os.path.isabs(value) or "://" in value
        if not variables and not is_place and looks_secret(value):
            found.add(value)
    return frozenset(filter(None, found))
