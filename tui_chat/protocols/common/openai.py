"""The reply's JSON schema, in the fields that OpenAI's two protocols share."""

from __future__ import annotations

from typing import Any

from tui_chat.models.envelope import ResponseFormat
from tui_chat.protocols.common.request_fields import Fields


def read_schema(form: Fields) -> ResponseFormat:
    """Take `name`, `description`, `schema` and `strict`."""
    return ResponseFormat(
        "schema",
        form.take_object("schema"),
        name=form.take_text("name"),
        description=form.take_text("description"),
        strict=form.take_boolean("strict"),
    )


def write_schema(form: ResponseFormat) -> dict[str, Any]:
    """Return these fields."""
    fields: dict[str, Any] = {"name": form.name or "reply"}
    if form.description:
        fields["description"] = form.description
    if form.schema is not None:
        fields["schema"] = form.schema
    if form.strict is not None:
        fields["strict"] = form.strict
    return fields
