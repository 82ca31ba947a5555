"""Model, temperature and token limits: from the session, else the role, else the endpoint."""

from __future__ import annotations

from typing import TypeVar

from tui_chat.context.inputs import Inputs
from tui_chat.models.envelope import Parameters, Sourced
from tui_chat.models.role import Role
from tui_chat.models.text import Origin, OriginKind

T = TypeVar("T")

RESERVE_SHARE = 4
"""Without a reply limit, at most this fraction (a fourth) of the context is reserved."""

USUAL_RESERVE = 4096
"""Tokens reserved for the reply if neither a setting nor the endpoint says how many."""


def parameters(inputs: Inputs) -> Parameters:
    """Return the parameters of a request, each with its origin."""
    settings, role, endpoint = inputs.settings, active_role(inputs), inputs.endpoint
    default_model = endpoint.models[0] if endpoint.models else ""
    model = (
        _sourced("model", settings.model or None, "session", "")
        or _sourced("model", role.model or None if role else None, "role", _name(role))
        or Sourced(default_model, _origin("model", "endpoint", endpoint.name))
    )
    temperature = _sourced("temperature", settings.temperature, "session", "") or _sourced(
        "temperature", role.temperature if role else None, "role", _name(role)
    )
    max_tokens = _sourced("max_tokens", settings.max_tokens, "session", "") or _sourced(
        "max_tokens", role.max_tokens if role else None, "role", _name(role)
    )
    return Parameters(model, temperature, max_tokens, inputs.stream)


def active_role(inputs: Inputs) -> Role | None:
    """Return the session's role; None without one or if it is disabled."""
    role = inputs.role
    return role if role is not None and role.status == "enabled" else None


def context_limit(inputs: Inputs, model: str) -> int | None:
    """Return the limit of input and output together in tokens; None if unknown."""
    if inputs.context_limit is not None:
        return inputs.context_limit
    return inputs.endpoint.facts_of(model).context_limit


def reply_reserve(inputs: Inputs, asked: Parameters, limit: int | None) -> int:
    """Return the tokens reserved for the reply: the setting, else max_tokens, else the endpoint's
    reply limit, but then no more than a share of the context.
    """
    if inputs.reply_reserve is not None:
        return inputs.reply_reserve
    if asked.max_tokens is not None:
        return asked.max_tokens.value
    if limit is None:
        return 0
    # The protocol's default limit may be most of the context; reserving all of it would leave no
    # room for the history.
    return min(inputs.endpoint.max_tokens or USUAL_RESERVE, limit // RESERVE_SHARE)


def _name(role: Role | None) -> str:
    return role.name if role else ""


def _sourced(setting: str, value: T | None, who: str, name: str) -> Sourced[T] | None:
    return None if value is None else Sourced(value, _origin(setting, who, name))


def _origin(setting: str, who: str, name: str) -> Origin:
    by = f"{who} {name}".strip()
    return Origin(OriginKind.SETTING, setting, f"{setting}, set by the {by}")
