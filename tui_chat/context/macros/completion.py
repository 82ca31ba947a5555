"""The macros offered for completion, each with a line of help."""

from __future__ import annotations

from tui_chat.extensions import plugins
from tui_chat.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class MacroHelp:
    """A macro offered for completion."""

    name: str
    """In lower case."""
    written: str
    """The inserted text, such as `{{random::a::b}}`."""
    words: str


MACRO_HELP = (
    MacroHelp("user", "{{user}}", "the profile's name"),
    MacroHelp("char", "{{char}}", "the role's name"),
    MacroHelp("persona", "{{persona}}", "the profile's text"),
    MacroHelp("preset", "{{preset}}", "the preset's name"),
    MacroHelp("model", "{{model}}", "the selected model"),
    MacroHelp("date", "{{date}}", "the day, as 2025-06-30"),
    MacroHelp("time", "{{time}}", "the time, as 18:05"),
    MacroHelp("weekday", "{{weekday}}", "the day of the week"),
    MacroHelp("datetimeformat", "{{datetimeformat::YYYY-MM-DD}}", "the time in a format"),
    MacroHelp("lastmessage", "{{lastMessage}}", "the newest message or the draft"),
    MacroHelp("lastusermessage", "{{lastUserMessage}}", "the user's last message"),
    MacroHelp("lastcharmessage", "{{lastCharMessage}}", "the model's last message"),
    MacroHelp("random", "{{random::a::b}}", "one of them at random, for each request"),
    MacroHelp("pick", "{{pick::a::b}}", "one of them at random, once for a session"),
    MacroHelp("roll", "{{roll::2d6}}", "a dice roll"),
    MacroHelp("setvar", "{{setvar::name::value}}", "sets a variable; expands to nothing"),
    MacroHelp("getvar", "{{getvar::name}}", "a variable's value"),
    MacroHelp("addvar", "{{addvar::name::value}}", "adds to a variable"),
    MacroHelp("incvar", "{{incvar::name}}", "counts a variable up; its new value"),
    MacroHelp("decvar", "{{decvar::name}}", "counts a variable down; its new value"),
    MacroHelp("hasvar", "{{hasvar::name}}", "true or false: whether a variable is set"),
    MacroHelp("deletevar", "{{deletevar::name}}", "deletes a variable"),
    MacroHelp("setglobalvar", "{{setglobalvar::name::value}}", "sets a global variable"),
    MacroHelp("getglobalvar", "{{getglobalvar::name}}", "a global variable's value"),
    MacroHelp("addglobalvar", "{{addglobalvar::name::value}}", "adds to a global variable"),
    MacroHelp("incglobalvar", "{{incglobalvar::name}}", "counts a global variable up"),
    MacroHelp("decglobalvar", "{{decglobalvar::name}}", "counts a global variable down"),
    MacroHelp("hasglobalvar", "{{hasglobalvar::name}}", "whether a global variable is set"),
    MacroHelp("deleteglobalvar", "{{deleteglobalvar::name}}", "deletes a global variable"),
    MacroHelp("setvarkey", "{{setvarkey::name::key::value}}", "sets a key of a variable"),
    MacroHelp("getvarkey", "{{getvarkey::name::key}}", "the value of a key of a variable"),
    MacroHelp("setglobalvarkey", "{{setglobalvarkey::name::key::value}}", "sets a key globally"),
    MacroHelp("getglobalvarkey", "{{getglobalvarkey::name::key}}", "a global variable's key"),
    MacroHelp("timediff", "{{timeDiff::time::time}}", "the time between two, in words"),
    MacroHelp(".", "{{.name = value}}", "a variable with an operator"),
    MacroHelp("$", "{{$name = value}}", "a global variable with an operator"),
    MacroHelp("banned", "{{banned::text}}", "nothing"),
    MacroHelp("worldinfobefore", "{{worldInfoBefore}}", "lore before the character"),
    MacroHelp("worldinfoafter", "{{worldInfoAfter}}", "lore after the character"),
    MacroHelp("if", "{{if name}}…{{else}}…{{/if}}", "one text or the other"),
    MacroHelp("reverse", "{{reverse::text}}", "a text from its end"),
    MacroHelp("outlet", "{{outlet::name}}", "the lore entries of an outlet"),
    MacroHelp("greeting", "{{greeting::0}}", "a greeting of the character"),
    MacroHelp("newline", "{{newline}}", "a line break"),
    MacroHelp("space", "{{space}}", "a space"),
    MacroHelp("trim", "{{trim}}", "removes the line breaks around it"),
    MacroHelp("noop", "{{noop}}", "nothing"),
    MacroHelp("//", "{{// comment}}", "nothing: a comment"),
    MacroHelp("comment", "{{comment::text}}", "nothing"),
)
"""Those of the core, in the order in which they are offered."""


def complete_macro(typed: str, variables: tuple[str, ...] = ()) -> tuple[MacroHelp, ...]:
    """Return the macros that begin with `typed`, the text after `{{`; variables go last."""
    wanted = typed.casefold()
    own = tuple(
        MacroHelp(name.casefold(), f"{{{{getvar::{name}}}}}", "a variable of this preset")
        for name in variables
    )
    added = (
        MacroHelp(macro.name, macro.written, macro.summary)
        for plugin in plugins()
        for macro in plugin.macros
    )
    return tuple(macro for macro in (*MACRO_HELP, *added, *own) if macro.name.startswith(wanted))
