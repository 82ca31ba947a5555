"""Writes the tables of keys in `configuration.md`: `python docs/dev/configuration_table.py`.

Types, defaults and docstrings are those of the fields of the values that the tables become.
`.ci/run` runs it and fails if that changes the file.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tui_chat.config import file as config_file
from tui_chat.config.file import ConfigFile
from tui_chat.models import endpoint, envelope, model_facts, prices, tool
from tui_chat.models.boundary import Hidden, limit_of, split
from tui_chat.models.endpoint import Endpoint, Retries, Timeouts
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.model_facts import ModelFacts
from tui_chat.models.prices import Prices
from tui_chat.models.tool import CommandTool

FILE = Path(__file__).parents[1] / "configuration.md"
BEGIN, END = "<!-- keys -->\n", "<!-- end of keys -->\n"

TABLES: tuple[tuple[str, tuple[tuple[types.ModuleType, type], ...]], ...] = (
    ("At the top of the file", ((config_file, ConfigFile),)),
    ("`[endpoints.NAME]`", ((endpoint, Endpoint),)),
    ('`[models."MODEL"]` and `[endpoints.NAME.facts."MODEL"]`', ((model_facts, ModelFacts),)),
    ("`[tools.NAME]`", ((envelope, ToolDefinition), (tool, CommandTool))),
)
"""The heading of each table, and the values whose fields are its keys."""
RENAMED = {(Endpoint, "settings"): "parameters", (Prices, "starts"): "from"}
"""Fields whose key in this file is another, see `tui_chat.config.file`."""
SECTIONS = frozenset(
    (
        *((ConfigFile, name) for name in ("keys", "endpoints", "models", "tools", "plugins")),
        (Endpoint, "facts"),
    )
)
"""Fields that are tables with a heading of their own, or that the page describes elsewhere."""
WITHIN = {
    (Endpoint, "timeouts"): (endpoint, Timeouts),
    (Endpoint, "retries"): (endpoint, Retries),
    (ModelFacts, "prices"): (prices, Prices),
}
"""Fields that are tables whose keys are listed with those around them."""


def described(module: types.ModuleType, name: str) -> Mapping[str, str]:
    """Return the docstrings below the fields of a class."""
    tree = ast.parse(inspect.getsource(module))
    body = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name).body
    return {
        field.target.id: " ".join(str(text.value.value).split())
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }


def kind(annotation: Any) -> str:
    """Return what a value must be, in words."""
    base, _ = split(annotation)
    origin, arguments = get_origin(base), get_args(base)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(map(kind, arguments)))
    if origin is Literal:
        return ", ".join(f"`{each}`" for each in arguments)
    if origin is tuple and get_origin(split(arguments[0])[0]) is not tuple:
        return f"list of {kind(arguments[0])}"
    if origin in (tuple, dict, Mapping) or is_dataclass(base):
        return "table"
    if isinstance(base, type) and issubclass(base, Enum):
        return ", ".join(f"`{each.value}`" for each in base)
    words = {
        str: "text", bool: "boolean", int: "whole number", float: "number",
        Decimal: "number", date: "day", Any: "anything",
    }  # fmt: skip
    return words[base]


def rows(module: types.ModuleType, table: type, before: str = "") -> Iterator[Sequence[str]]:
    """Yield key, value and description of each key of a table; `before` is what its keys begin
    with.
    """
    descriptions = described(module, table.__name__)
    hints = get_type_hints(table, include_extras=True)
    for field in fields(table):
        hint = hints[field.name]
        if limit_of(hint, Hidden) is not None or (table, field.name) in SECTIONS:
            continue
        key = f"{before}{RENAMED.get((table, field.name), field.name)}"
        if within := WITHIN.get((table, field.name)):
            yield from rows(*within, f"{key}.")
            continue
        default = field.default
        is_shown = isinstance(default, str | int | float) and default not in ("", None)
        written = f"{default:g}" if isinstance(default, float) else str(default)
        written = written.lower() if isinstance(default, bool) else written
        rest = f" Default: `{written}`." if is_shown else ""
        text = descriptions[field.name].replace("|", "\\|").replace("None", "not set")
        text = text if text.endswith((".", "?")) else f"{text}."
        yield f"`{key}`", kind(hint), text + rest


def tables() -> str:
    """Return all tables in Markdown."""
    lines: list[str] = []
    for heading, of_values in TABLES:
        lines += [f"### {heading}\n", "\n", "| key | value | meaning |\n", "| --- | --- | --- |\n"]
        for module, table in of_values:
            lines += [f"| {' | '.join(row)} |\n" for row in rows(module, table)]
        lines.append("\n")
    return "".join(lines)


def updated(text: str) -> str:
    """Return the text of the file with the tables of the present code."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{tables()}{END}{after}"


if __name__ == "__main__":
    FILE.write_text(updated(FILE.read_text(encoding="utf-8")), encoding="utf-8")
