"""Writes the table of settings by protocol in `configuration.md`:
`python docs/dev/settings_table.py`.

Each setting is encoded alone in each protocol, and the report that the inspector shows says what
became of it. `.ci/run` runs it and fails if that changes the file.
"""

from __future__ import annotations

import re
from pathlib import Path

from tui_chat.analysis.settings_report import (
    SettingReport,
    report_settings,
    settings_with_example,
)
from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.preset import Preset
from tui_chat.models.settings import CONTEXT_SETTINGS, SETTINGS

FILE = Path(__file__).parents[1] / "configuration.md"
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"

MODELS = {
    Protocol.OPENAI_CHAT: ("gpt-4o", "gpt-5.4", "gpt-4o-search-preview"),
    Protocol.OPENAI_RESPONSES: ("gpt-4o", "gpt-5.4"),
    Protocol.ANTHROPIC: ("claude-opus-4-6", "claude-haiku-4-5"),
    Protocol.GEMINI: ("gemini-3.5-flash", "gemini-2.5-flash"),
    Protocol.OLLAMA: ("gpt-oss", "qwen3"),
}
"""Models of different families, with which each setting is tried."""
_WEATHER = ToolDefinition("weather", "The weather.", {"type": "object", "properties": {}})


def report(name: str, protocol: Protocol, model: str) -> SettingReport:
    """Return what becomes of a sample of a setting."""
    inputs = Inputs(
        Endpoint("sample", protocol, "https://sample.invalid", models=(model,)),
        Preset("sample"),
        draft="Hi",
        settings=settings_with_example(SessionSettings(), name),
        tools=(_WEATHER,),
    )
    return next(each for each in report_settings(compose(inputs)) if each.name == name)


def cell(name: str, protocol: Protocol) -> str:
    """Return where a setting is in the body of a protocol, by model if that differs; `–` if it is
    not sent. A star stands for another value than the one that was set.
    """
    found = dict.fromkeys(_places(report(name, protocol, each)) for each in MODELS[protocol])
    return " or ".join(each for each in found if each) or "–"


def _places(found: SettingReport) -> str:
    """Return the places of a setting in Markdown; empty if it is not sent."""
    star = r"\*" if found.notes else ""
    pointers = (re.sub(r"/\d+", "[]", each.pointer).removeprefix("/") for each in found.sent)
    return ", ".join(f"`{each.replace('/', '.')}`{star}" for each in pointers)


def table() -> str:
    """Return the table in Markdown."""
    head = ("setting", *(protocol.label for protocol in Protocol))
    rows = [
        (f"`{name}`", *(cell(name, protocol) for protocol in Protocol))
        for name in SETTINGS
        if name not in CONTEXT_SETTINGS
    ]
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def updated(text: str) -> str:
    """Return the text of the file with the table of the present code."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    FILE.write_text(updated(FILE.read_text(encoding="utf-8")), encoding="utf-8")
