"""What each macro does, in a line: for completion in the editor."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MacroHelp:
    """A macro as it is offered for completion."""

    name: str
    """In lower case, as it is looked up."""
    written: str
    """What is put into the text: `{{random::a::b}}`."""
    words: str


MACRO_HELP = (
    MacroHelp("user", "{{user}}", "the profile's name"),
    MacroHelp("char", "{{char}}", "the role's name"),
    MacroHelp("persona", "{{persona}}", "what the profile says"),
    MacroHelp("preset", "{{preset}}", "the preset's name"),
    MacroHelp("model", "{{model}}", "the model that is asked"),
    MacroHelp("date", "{{date}}", "the day, as 2025-06-30"),
    MacroHelp("time", "{{time}}", "the time, as 18:05"),
    MacroHelp("weekday", "{{weekday}}", "the day of the week"),
    MacroHelp("lastmessage", "{{lastMessage}}", "the newest message, or what is being typed"),
    MacroHelp("lastusermessage", "{{lastUserMessage}}", "what the user said last"),
    MacroHelp("lastcharmessage", "{{lastCharMessage}}", "what the model said last"),
    MacroHelp("random", "{{random::a::b}}", "one of them, drawn for each request"),
    MacroHelp("pick", "{{pick::a::b}}", "one of them, drawn once for a session"),
    MacroHelp("roll", "{{roll::2d6}}", "a throw of dice"),
    MacroHelp("setvar", "{{setvar::name::value}}", "sets a variable; becomes nothing"),
    MacroHelp("getvar", "{{getvar::name}}", "a variable's value"),
    MacroHelp("newline", "{{newline}}", "a line break"),
    MacroHelp("space", "{{space}}", "a space"),
    MacroHelp("trim", "{{trim}}", "takes the line breaks around it away"),
    MacroHelp("noop", "{{noop}}", "nothing"),
    MacroHelp("//", "{{// comment}}", "nothing: a comment"),
)
"""In the order in which they are offered."""


def complete_macro(typed: str, variables: tuple[str, ...] = ()) -> tuple[MacroHelp, ...]:
    """Return the macros that begin with `typed`, the text after `{{`; variables go last."""
    wanted = typed.casefold()
    own = tuple(
        MacroHelp(name.casefold(), f"{{{{getvar::{name}}}}}", "a variable of this preset")
        for name in variables
    )
    return tuple(macro for macro in (*MACRO_HELP, *own) if macro.name.startswith(wanted))
