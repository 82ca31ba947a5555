"""A JSON schema for the reply, in the fields that OpenAI's two protocols share."""

from __future__ import annotations

from typing import Any

from tui_chat.models.envelope import ResponseFormat
from tui_chat.protocols.common.request_fields import Fields


def read_schema(form: Fields) -> ResponseFormat:
    """Return what `name`, `description`, `schema` and `strict` say."""
    return ResponseFormat(
        "schema",
        form.take_object("schema"),
        name=form.take_text("name"),
        description=form.take_text("description"),
        strict=form.take_boolean("strict"),
    )


def write_schema(form: ResponseFormat) -> dict[str, Any]:
    """Return those fields."""
    said: dict[str, Any] = {"name": form.name or "reply"}
    if form.description:
        said["description"] = form.description
    if form.schema is not None:
        said["schema"] = form.schema
    if form.strict is not None:
        said["strict"] = form.strict
    return said
