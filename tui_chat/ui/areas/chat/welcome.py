"""The words of an empty chat: how to begin, on one screen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from tui_chat.models.sanitize import one_line
from tui_chat.ui.areas.chat.text_lines import (
    BLANK,
    ClickAction,
    StyleNames,
    TextLine,
    TextRun,
    clipped,
    indented,
    safe_run,
    wrap,
)
from tui_chat.ui.key_names import DEFAULT_KEYS

if TYPE_CHECKING:
    from tui_chat.models.endpoint import Endpoint

RecentSessions: TypeAlias = Sequence[tuple[str, str, str]]
"""Id, title and time of the last sessions, the newest first."""

MAX_RECENT = 3
"""Last sessions that are shown."""
MAX_OFFERS = 3
"""Providers to offer at most."""

_STYLED = re.compile(r"\*\*(?P<strong>.+?)\*\*|`(?P<code>.+?)`")
_BULLET, _BULLET_MARGIN = TextRun("• ", ("list-mark",)), TextRun("  ")


def welcome(
    model: str,
    is_offline: bool,
    with_key: Sequence[Endpoint] = (),
    keys: Mapping[str, str] = DEFAULT_KEYS,
) -> str:
    """Return the Markdown that an empty chat shows. `with_key` are endpoints whose key is set,
    `keys` has one for each action.
    """
    if not is_offline:
        partner = f"You are talking to **{model}**. "
    else:
        offers = [
            "- `/key` enters the API key of a provider",
            f"- **{keys['model']}** also offers models on this machine, such as Ollama's",
            *(
                f"- `/model {endpoint.name}` answers: its key is set"
                for endpoint in with_key[:MAX_OFFERS]
            ),
        ]
        partner = (
            f"**{model}** is a practice model: it answers with what it received, without a key or "
            "a network. For another one:\n\n" + "\n".join(offers) + "\n\n"
        )
    return (
        "# tui-chat\n\n"
        "A chat that shows the exact request before it is sent.\n\n"
        f"{partner}Three things to try:\n\n"
        f"- **{keys['inspector']}** shows the request while you type, or the one behind a reply\n"
        f"- **{keys['model']}** switches the model\n"
        f"- **{keys['palette']}** finds every command: try `title`, `theme`, `cost`\n\n"
        "Type below; **Enter** sends, **Ctrl+J** starts a new line, **/** a command, **@** "
        f"attaches a file. **{keys['help']}** shows all keys.\n"
    )


def recent_lines(recent: RecentSessions, width: int) -> list[TextLine]:
    """Lay out the last sessions; a click opens one."""
    if not recent:
        return []
    lines = [BLANK, TextLine((TextRun("Last sessions", ("strong",)),))]
    for session_id, title, moment in recent:
        name = clipped(one_line(title), max(width - len(moment) - 6, 1))
        action = ClickAction("session", session_id)
        runs = (_BULLET, TextRun(name, ("link",), action=action), safe_run(f"  {moment}", "meta"))
        lines.append(TextLine(runs, action=action))
    return lines


def welcome_lines(source: str, width: int) -> list[TextLine]:
    """Lay out the Markdown of `welcome` without a parser, whose import would take a fifth of the
    time until the first screen.
    """
    made: list[TextLine] = []
    for line in source.rstrip("\n").split("\n"):
        if line.startswith("# "):
            made += wrap(_runs(line[2:], ("heading-first",)), width)
        elif line.startswith("- "):
            made += indented(wrap(_runs(line[2:]), width - 2), (_BULLET,), (_BULLET_MARGIN,))
        else:
            made += wrap(_runs(line), width) if line else [BLANK]
    return made


def _runs(line: str, styles: StyleNames = ()) -> list[TextRun]:
    runs: list[TextRun] = []
    end = 0
    for match in _STYLED.finditer(line):
        if match.start() > end:
            runs.append(safe_run(line[end : match.start()], *styles))
        kind = match.lastgroup or ""
        runs.append(safe_run(match[kind], *styles, kind))
        end = match.end()
    if end < len(line):
        runs.append(safe_run(line[end:], *styles))
    return runs
