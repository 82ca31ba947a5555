"""`tui-chat docs`: the documentation on the terminal."""

from __future__ import annotations

import click

from tui_chat.cli.names import find
from tui_chat.cli.options import TEXT
from tui_chat.cli.output import table, write_export, write_json, write_line, write_text
from tui_chat.hooks import load
from tui_chat.paths import bundled


def page_names() -> list[str]:
    """Return the names of the pages for users."""
    return sorted(path.stem for path in bundled("docs").glob("*.md"))


SCHEMAS = {
    "ask": "documents:ReplyDocument",
    "build": "documents:EnvelopeDocument",
    "convert": "documents:ConvertedDocument",
    "endpoints": "models:EndpointDocument",
    "library": "library:ItemDocument",
    "library-check": "library:FindingDocument",
    "keys": "keys:KeyDocument",
    "models": "models:ModelDocument",
    "plugins": "plugins:PluginDocument",
    "read": "documents:RecordedReplyDocument",
    "sessions": "documents:SessionDocument",
    "sessions-show": "documents:WholeSessionDocument",
}
"""The document of each command, or of each element of its list, in `tui_chat.cli`."""


@click.command()
@click.argument("page", default="", type=TEXT)
@click.option(
    "--schema",
    type=click.Choice([*SCHEMAS]),
    metavar="COMMAND",
    help="Print the JSON Schema of what a command prints with --json: of each element, if that is "
    f"a list. COMMAND is one of {', '.join(SCHEMAS)}.",
)
def docs(page: str, schema: str | None) -> None:
    """Print a page of the documentation, or list the pages.

    \b
    Examples:
      tui-chat docs
      tui-chat docs presets
      tui-chat docs --schema ask
    """
    if schema is not None:
        from pydantic import TypeAdapter

        kind = load(f"tui_chat.cli.{SCHEMAS[schema]}")
        write_json(TypeAdapter(kind).json_schema(mode="serialization"))
        return
    names = page_names()
    if not page:
        rows = [(name, _text(name).partition("\n")[0].removeprefix("# ")) for name in names]
        write_text(table(rows))
        write_line("\n`tui-chat docs PAGE` prints a page.", err=True)
        return
    name = page.casefold().removesuffix(".md")
    write_export(_text(find("page", name, names)))


def _text(name: str) -> str:
    return (bundled("docs") / f"{name}.md").read_text(encoding="utf-8")
