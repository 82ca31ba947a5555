"""What each macro does, in a line: for completion where one writes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MacroWords:
    """A macro as it is written, and what it becomes."""

    name: str
    """In lower case, as it is looked up."""
    written: str
    """What is put into the text: `{{random::a::b}}`."""
    words: str


MACRO_WORDS = (
    MacroWords("user", "{{user}}", "the profile's name"),
    MacroWords("char", "{{char}}", "the role's name"),
    MacroWords("persona", "{{persona}}", "what the profile says"),
    MacroWords("preset", "{{preset}}", "the preset's name"),
    MacroWords("model", "{{model}}", "the model that is asked"),
    MacroWords("date", "{{date}}", "the day, as 2025-06-30"),
    MacroWords("time", "{{time}}", "the time, as 18:05"),
    MacroWords("weekday", "{{weekday}}", "the day of the week"),
    MacroWords("lastmessage", "{{lastMessage}}", "the newest message, or what is being typed"),
    MacroWords("lastusermessage", "{{lastUserMessage}}", "what the user said last"),
    MacroWords("lastcharmessage", "{{lastCharMessage}}", "what the model said last"),
    MacroWords("random", "{{random::a::b}}", "one of them, drawn for each request"),
    MacroWords("pick", "{{pick::a::b}}", "one of them, drawn once for a session"),
    MacroWords("roll", "{{roll::2d6}}", "a throw of dice"),
    MacroWords("setvar", "{{setvar::name::value}}", "sets a variable; becomes nothing"),
    MacroWords("getvar", "{{getvar::name}}", "a variable's value"),
    MacroWords("newline", "{{newline}}", "a line break"),
    MacroWords("space", "{{space}}", "a space"),
    MacroWords("trim", "{{trim}}", "takes the line breaks around it away"),
    MacroWords("noop", "{{noop}}", "nothing"),
    MacroWords("//", "{{// comment}}", "nothing: a comment"),
)
"""In the order in which they are offered."""


def macros_beginning(typed: str, variables: tuple[str, ...] = ()) -> tuple[MacroWords, ...]:
    """Return the macros that `typed`, what stands behind `{{`, may become; variables go last."""
    wanted = typed.casefold()
    own = tuple(
        MacroWords(name.casefold(), f"{{{{getvar::{name}}}}}", "a variable of this preset")
        for name in variables
    )
    return tuple(macro for macro in (*MACRO_WORDS, *own) if macro.name.startswith(wanted))
