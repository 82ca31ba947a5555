"""The words of an empty chat: how to begin, on one screen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tui_chat.ui.areas.chat.text_lines import (
    BLANK,
    StyleNames,
    TextLine,
    TextRun,
    indented,
    safe_run,
    wrap,
)
from tui_chat.ui.key_names import DEFAULT_KEYS

if TYPE_CHECKING:
    from tui_chat.models.endpoint import Endpoint

MAX_KEYS = 3
"""Providers to offer at most."""

_STYLED = re.compile(r"\*\*(?P<strong>.+?)\*\*|`(?P<code>.+?)`")
_BULLET, _BULLET_MARGIN = TextRun("• ", ("list-mark",)), TextRun("  ")


def keys_found(endpoints: Sequence[Endpoint], environ: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """Return an endpoint for each key that the environment has."""
    by_variable: dict[str, Endpoint] = {}
    for endpoint in endpoints:
        kind, _, name = endpoint.key.partition(":")
        if kind == "env" and environ.get(name) and endpoint.models:
            by_variable.setdefault(name, endpoint)
    return tuple(by_variable.values())[:MAX_KEYS]


def welcome(
    model: str,
    is_offline: bool,
    found: Sequence[Endpoint] = (),
    keys: Mapping[str, str] = DEFAULT_KEYS,
) -> str:
    """Return the Markdown that an empty chat shows; `found` are endpoints whose key is there,
    `keys` has one for each action.
    """
    if not is_offline:
        partner = f"You are talking to **{model}**. "
    elif not found:
        partner = (
            f"**{model}** answers from within this program: no key, no network. For a provider, "
            "set its key in the environment (`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, "
            "`GEMINI_API_KEY` …) and start again. "
        )
    else:
        partner = (
            f"**{model}** answers from within this program. `{_variable(found[0])}` is set:\n\n"
            f"- **Enter** makes **{found[0].name}** ({found[0].models[0]}) the default\n"
        )
        partner += "".join(
            f"- `{_variable(each)}` is set too: `/model {each.name}`\n" for each in found[1:]
        )
        partner += "\n"
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


def _variable(endpoint: Endpoint) -> str:
    return endpoint.key.partition(":")[2]
