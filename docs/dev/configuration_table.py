"""Writes the tables of keys in `configuration.md`: `python docs/dev/configuration_table.py`.

Types, limits and defaults are those of the schema. A key is described by the docstring below it in
the schema or, where that has none, below the field of the value that the table becomes.
`tests/test_configuration_docs.py` fails if the file is out of date.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from tui_chat.config import schema, values
from tui_chat.config.schema import (
    EndpointTable,
    FactsTable,
    FileTable,
    PluginsTable,
    PricesTable,
    PriceTierTable,
    RetriesTable,
    Strict,
    TimeoutsTable,
    ToolTable,
)
from tui_chat.models import endpoint, model_facts, prices, tool
from tui_chat.models.settings import Settings

FILE = Path(__file__).parents[1] / "configuration.md"
BEGIN, END = "<!-- keys -->\n", "<!-- end of keys -->\n"

TABLES: tuple[tuple[str, type[Strict], tuple[tuple[types.ModuleType, str], ...]], ...] = (
    ("At the top of the file", FileTable, ((values, "Config"),)),
    ("`[endpoints.NAME]`", EndpointTable, ((endpoint, "Endpoint"),)),
    ("`[endpoints.NAME.timeouts]`", TimeoutsTable, ((endpoint, "Timeouts"),)),
    ("`[endpoints.NAME.retries]`", RetriesTable, ((endpoint, "Retries"),)),
    (
        '`[models."MODEL"]` and `[endpoints.NAME.facts."MODEL"]`',
        FactsTable,
        ((model_facts, "ModelFacts"),),
    ),
    ('`[models."MODEL".prices]`', PricesTable, ((prices, "Prices"),)),
    (
        '`[[models."MODEL".prices.tiers]]`',
        PriceTierTable,
        ((prices, "PriceTier"), (prices, "Prices")),
    ),
    ("`[tools.NAME]`", ToolTable, ((tool, "Tool"),)),
    ("`[plugins]`", PluginsTable, ()),
)
"""The heading of each table, its schema, and the values whose fields describe its keys."""


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


def kind(annotation: Any, field: FieldInfo | None = None) -> str:
    """Return what a value must be, in words."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return kind(arguments[0], field)
    if origin in (Union, types.UnionType):
        kinds = (kind(each, field) for each in arguments if each is not type(None))
        return " or ".join(dict.fromkeys(kinds))
    if origin is Literal:
        return ", ".join(f"`{each}`" for each in arguments)
    if origin is tuple:
        return f"list of {kind(arguments[0])}"
    if origin is dict or (
        isinstance(annotation, type) and issubclass(annotation, Strict | Settings)
    ):
        return "table"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return ", ".join(f"`{each.value}`" for each in annotation)
    words = {
        str: "text", bool: "`true`, `false`", int: "whole number", float: "number",
        Decimal: "number", date: "day", Any: "anything",
    }  # fmt: skip
    return words[annotation] + limits(field)


def limits(field: FieldInfo | None) -> str:
    """Return the limits of a number in words."""
    found = field.metadata if field is not None else []
    words = {"gt": "over", "ge": "from", "le": "to", "lt": "under"}
    texts = [
        f"{word} {getattr(each, name):,}"
        for each in found
        for name, word in words.items()
        if getattr(each, name, None) is not None
    ]
    return f" {' '.join(texts)}" if texts else ""


def rows(table: type[Strict], descriptions: Mapping[str, str]) -> Iterator[Sequence[str]]:
    """Yield key, value and description of each key of a table."""
    for name, field in table.model_fields.items():
        default = field.default
        is_shown = isinstance(default, str | int | float) and default not in ("", None)
        written = f"{default:g}" if isinstance(default, float) else str(default)
        written = written.lower() if isinstance(default, bool) else written
        rest = f" Default: `{written}`." if is_shown else ""
        text = descriptions[name].replace("|", "\\|")
        text = text if text.endswith((".", "?")) else f"{text}."
        yield f"`{field.alias or name}`", kind(field.annotation, field), text + rest


def tables() -> str:
    """Return all tables in Markdown."""
    lines: list[str] = []
    for heading, table, of_values in TABLES:
        descriptions: dict[str, str] = {}
        for module, name in (*reversed(of_values), (schema, table.__name__)):
            descriptions |= described(module, name)
        lines += [f"## {heading}\n", "\n", "| key | value | meaning |\n", "| --- | --- | --- |\n"]
        lines += [f"| {' | '.join(row)} |\n" for row in rows(table, descriptions)]
        lines.append("\n")
    return "".join(lines)


def updated(text: str) -> str:
    """Return the text of the file with the tables of the present code."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{tables()}{END}{after}"


if __name__ == "__main__":
    FILE.write_text(updated(FILE.read_text(encoding="utf-8")), encoding="utf-8")
