"""The message of `ask` and `build` and what is chosen for it, from the command line, the standard
input and files.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tui_chat.cli.options import FILE, INPUT, TEXT, argument, option, refuse_empty
from tui_chat.cli.output import write_line
from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, STANDARD_INPUT, input_name, read_standard_input, read_text
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import clean
from tui_chat.workspace.attachments import read_attachment

if TYPE_CHECKING:
    from tui_chat.models.blocks import MediaBlock

_Q = TypeVar("_Q", bound="Question")

ROLE_HELP = 'The role of a new session; "" for none, also in a session that lost its own.'
PRESET_HELP = 'A preset; "" for none.'


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request of the command line. What is None, and an empty endpoint, is left to the session;
    an empty role, preset or profile is none.
    """

    words: tuple[str, ...] = argument(metavar="[TEXT]...", nargs=-1, type=TEXT)
    last: bool = option("-c", "--continue", is_flag=True, help="Continue the last session.")
    session: str = option(
        *("-s", "--session"),
        default="",
        callback=refuse_empty,
        help="Continue a session: its id, start of it, or title.",
    )
    attachments: tuple[Path, ...] = option(
        *("-a", "-f", "--attach"), type=INPUT, multiple=True, help="A file; repeatable."
    )
    system: str = option(
        default="",
        metavar="TEXT",
        type=TEXT,
        help="A system message before it, instead of a role.",
    )
    role: str | None = option(metavar="NAME", help=ROLE_HELP)
    preset: str | None = option(
        *("-t", "--preset"),
        metavar="NAME",
        help=PRESET_HELP,
    )
    profile: str | None = option(metavar="NAME", help='A profile; "" for none.')
    bare: bool = option(
        is_flag=True, help="Send only the conversation: no role, preset, profile or tools."
    )
    model: str = option(
        *("-m", "--model"),
        default="",
        help="The model, or ENDPOINT/MODEL; without an endpoint at one that lists it.",
    )
    endpoint: str = option(default="", help="A configured endpoint.")
    settings: tuple[str, ...] = option(
        *("-o", "--set"),
        multiple=True,
        metavar="NAME=VALUE",
        help="A setting, such as temperature=0.7 or effort=high; repeatable.",
    )
    schema: Path | None = option(type=FILE, metavar="FILE", help="The JSON Schema of the reply.")
    stream: bool = option("--no-stream", flag_value=False, default=True, help="Don't stream.")

    @property
    def has_session(self) -> bool:
        """True if a session is continued."""
        return bool(self.session) or self.last

    @property
    def standard_inputs(self) -> list[str]:
        """The options whose value is the standard input."""
        return ["--attach" for path in self.attachments if path == STANDARD_INPUT]


def refuse(*faults: tuple[object, str, str]) -> None:
    """Raise InputError for the first fault that holds; each has its sentence and advice."""
    for holds, sentence, advice in faults:
        if holds:
            raise InputError(sentence, advice=advice)


def require_consistent(question: Question) -> None:
    """Raise InputError for options that contradict each other."""
    has_names = question.role or question.preset or question.profile
    refuse(
        (
            question.bare and has_names,
            "--bare sends nothing but the conversation.",
            "Omit it, or --role, --preset and --profile.",
        ),
        (
            question.session and question.last,
            "-c and -s name two sessions to continue.",
            "Leave one of them out.",
        ),
    )


def read_message(question: Question, *, may_be_piped: bool = True) -> str:
    """Return the message: the arguments, and the standard input if it is a pipe that no option is
    read from, or `-` is given. Raises InputError.
    """
    words = [word for word in question.words if word != "-"]
    is_used, is_named = bool(question.standard_inputs), "-" in question.words
    refuse((is_named and is_used, "The standard input can be read only once.", ""))
    piped = ""
    if is_named or (may_be_piped and not is_used and not sys.stdin.isatty()):
        content = read_standard_input()
        try:
            piped = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(
                f"standard input: byte {error.start} is not UTF-8 text.",
                advice="Send a picture, a sound or a PDF with `--attach -`.",
            ) from error
    return clean("\n\n".join(text for text in (" ".join(words), piped.strip("\n")) if text))


def read_part(path: Path) -> MediaBlock:
    """Return a file as an attachment. Raises InputError."""
    attachment = read_attachment(path)
    if attachment.is_card:
        write_line(f"note: {one_line(attachment.card_hint, 500)}", err=True)
    return attachment.part


def completed(question: _Q) -> _Q:
    """Return the question with what some options choose besides: the schema as a setting, and no
    role where a system message or nothing stands in for it. Raises InputError.
    """
    if question.schema is not None:
        schema = f"response_format={json.dumps(_read_schema(question.schema))}"
        question = replace(question, settings=(*question.settings, schema))
    if question.role is None and not question.has_session and (question.system or question.bare):
        question = replace(question, role="")
    return question


def _read_schema(path: Path) -> dict[str, Any]:
    """Return the schema of a file in the form of the setting. Raises InputError."""
    if not path.exists():
        raise InputError(f"--schema: there is no file “{one_line(str(path), 60)}”.")
    try:
        value = json.loads(read_text(path, max_bytes=MAX_BYTES))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{input_name(path)} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InputError(f"{input_name(path)}: a JSON Schema is an object")
    schema = cast("dict[str, Any]", value)
    return schema if "schema" in schema else {"name": "answer", "schema": schema}
