"""The message of `ask` and `build`, read from the command line, standard input and files."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tui_chat.cli.output import write_line
from tui_chat.cli.workspace import NO_CHOICES, Choices
from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, STANDARD_INPUT, input_name, read_standard_input, read_text
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.generation import side_kind
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import clean
from tui_chat.workspace.attachments import read_attachment

if TYPE_CHECKING:
    from tui_chat.models.generation import GenerationKind
    from tui_chat.models.message import Part


@dataclass(frozen=True, slots=True)
class Question:
    """The request of the command line."""

    words: tuple[str, ...] = ()
    session: str = ""
    """The id, start of an id, or title of a session; empty for a new one."""
    last: bool = False
    """True for the session that was active last."""
    choices: Choices = NO_CHOICES
    system: str = ""
    """A system message that goes before the message, in a new session instead of a role."""
    attachments: tuple[Path, ...] = ()
    schema: Path | None = None
    """A file with the JSON Schema of the reply."""
    temporary: bool = False
    """True to write nothing to disk."""
    stream: bool = True
    as_json: bool = False
    raw: bool = False
    bare: bool = False
    """True to send nothing but the messages of the conversation."""
    extract: bool = False
    """True to print only the first code block of the reply."""
    save_to: Path | None = None
    """The folder for pictures and files of the reply; None for the current one."""
    allowed_tools: tuple[str, ...] = ()
    """Tools whose calls run without asking."""
    force: bool = False
    """True to send a request that has errors."""
    kind: GenerationKind = "normal"
    """The kind of generation; the message is the instruction of a kind that takes one."""
    models: tuple[str, ...] = ()
    """The models as they were typed; one alone is among the choices."""

    @property
    def standard_inputs(self) -> list[str]:
        """The options whose value is the standard input."""
        names = ["--attach" for path in self.attachments if path == STANDARD_INPUT]
        names += ["--schema"] if self.schema == STANDARD_INPUT else []
        return [*names, "--system"] if self.system == "-" else names

    @property
    def asks_several(self) -> bool:
        """True if several models are asked."""
        return len(self.models) > 1


def require_message(question: Question, *, has_message: bool) -> None:
    """Raise InputError if the kind of generation needs a message that is not there."""
    side = side_kind(question.kind)
    if has_message or not (question.kind == "normal" or (side is not None and side.takes_prompt)):
        return
    raise InputError(
        "There is no message to send.",
        advice="Write it after `ask`, or pipe it: `echo Hello | tui-chat ask`.",
    )


def require_consistent(question: Question, *, has_message: bool) -> None:
    """Raise InputError for options that contradict each other or the message."""
    side = side_kind(question.kind)
    takes_prompt = side is not None and side.takes_prompt
    if has_message and not (question.kind == "normal" or takes_prompt):
        raise InputError(f"--kind {question.kind} takes no message.", advice="Omit it.")
    if question.attachments and takes_prompt:
        raise InputError(f"--kind {question.kind} takes no attachments.", advice="Omit --attach.")
    if question.extract and (question.as_json or question.raw):
        raise InputError("--extract prints a code block.", advice="Omit --json and --raw.")
    if question.asks_several and (question.kind != "normal" or question.extract):
        sentence = (
            "Several models can only reply to a message, and their replies are printed whole."
        )
        raise InputError(sentence, advice="Omit --kind and --extract, or name one --model.")
    choices = question.choices
    if question.bare and (choices.role or choices.preset or choices.profile):
        raise InputError(
            "--bare sends nothing but the conversation.",
            advice="Omit it, or --role, --preset and --profile.",
        )
    if question.session and question.last:
        raise InputError(
            "-c and -s name two sessions to continue.", advice="Leave one of them out."
        )
    if question.temporary and (question.session or question.last):
        raise InputError("A stored session cannot be temporary.", advice="Omit --temporary.")


def read_message(question: Question, *, may_be_piped: bool = True) -> str:
    """Return the message: the arguments, and the standard input if it is a pipe that no option is
    read from, or `-` is given.
    """
    words = [word for word in question.words if word != "-"]
    is_used = bool(question.standard_inputs)
    is_named = "-" in question.words
    if is_named and is_used:
        raise InputError("The standard input can be read only once.")
    piped = ""
    if is_named or (may_be_piped and not is_used and not sys.stdin.isatty()):
        piped = _decoded(read_standard_input())
    return clean("\n\n".join(text for text in (" ".join(words), piped.strip("\n")) if text))


def read_system_message(question: Question) -> str:
    """Return the text of `--system`, which may be that of the standard input."""
    return read_text(STANDARD_INPUT) if question.system == "-" else question.system


def _decoded(text: bytes) -> str:
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"standard input: byte {error.start} is not UTF-8 text.",
            advice="Send a picture, a sound or a PDF with `--attach -`.",
        ) from error


def read_part(path: Path) -> Part:
    """Return a file as an attachment. Raises InputError."""
    attachment = read_attachment(path)
    if attachment.is_card:
        write_line(f"note: {one_line(attachment.card_hint, 500)}", err=True)
    return attachment.part


def request_choices(question: Question) -> Choices:
    """Return the choices with what other options choose: the schema as a setting, and no role where
    a system message or nothing stands in for it. Raises InputError.
    """
    choices = _with_schema(question)
    has_own_role = bool(question.system) or question.bare
    if has_own_role and choices.role is None and not (question.session or question.last):
        choices = replace(choices, role="")
    return choices


def _with_schema(question: Question) -> Choices:
    """Return the choices with the schema as a setting. Raises InputError."""
    if question.schema is None:
        return question.choices
    if question.schema != STANDARD_INPUT and not question.schema.exists():
        raise InputError(
            f"--schema: there is no file “{one_line(str(question.schema), 60)}”.",
            advice="It takes the file of a JSON Schema; `--schema -` reads one that is piped.",
        )
    text = read_text(question.schema, max_bytes=MAX_BYTES)
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{input_name(question.schema)} is not JSON: {error}") from error
    if not isinstance(schema, dict):
        raise InputError(f"{input_name(question.schema)}: a JSON Schema is an object")
    form = cast("dict[str, Any]", schema)
    if "schema" not in form:
        form = {"name": "answer", "schema": form}
    setting = f"response_format={json.dumps(form)}"
    return replace(question.choices, settings=(*question.choices.settings, setting))
