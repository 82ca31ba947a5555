"""Settings of a request: from the session, else the preset, else the role, else the endpoint; the
model from the session, else the role, else the endpoint.
"""

from __future__ import annotations

from typing import Any, cast

from tui_chat.context.inputs import Inputs
from tui_chat.models.envelope import Parameters, Sourced
from tui_chat.models.role import Role
from tui_chat.models.semantics import HostedTool
from tui_chat.models.setting_types import SETTINGS
from tui_chat.models.settings import NO_SETTINGS, setting_values
from tui_chat.models.text import Origin, OriginKind

_REASONING = frozenset({"effort", "reasoning_budget"})
RESERVE_SHARE = 4
"""Without a reply limit, at most this fraction (a fourth) of the context is reserved."""

USUAL_RESERVE = 4096
"""Tokens reserved for the reply if neither a setting nor the endpoint says how many."""


def parameters(inputs: Inputs) -> Parameters:
    """Return the parameters of a request, each with the origin that set it.

    Effort and reasoning budget are one choice: only the one with higher precedence is used.
    """
    found: dict[str, Sourced[Any]] = {}
    for settings, by in inputs.setting_places:
        if settings is NO_SETTINGS:
            continue
        given = {
            name: Sourced(value, _origin(name, by))
            for name, value in zip(SETTINGS, setting_values(settings), strict=True)
            if value is not None
        }
        if found.keys() & _REASONING:
            given = {name: each for name, each in given.items() if name not in _REASONING}
        found = given | found
    if "stop" in found and not found["stop"].value:
        del found["stop"]
    search = found.pop("web_search", None)
    if search is not None:
        tools = (HostedTool("web_search", search.value),) if search.value.enabled else ()
        found["hosted_tools"] = Sourced(tools, search.origin)
    model = _model(inputs, inputs.active_role)
    return Parameters(model, stream=inputs.stream, **cast("dict[str, Any]", found))


def _model(inputs: Inputs, role: Role | None) -> Sourced[str]:
    endpoint = inputs.endpoint
    if inputs.settings.model:
        return Sourced(inputs.settings.model, _origin("model", "session"))
    if role is not None and role.model:
        return Sourced(role.model, _origin("model", f"role {role.name}"))
    default = endpoint.models[0] if endpoint.models else ""
    return Sourced(default, _origin("model", f"endpoint {endpoint.name}"))


def context_limit(inputs: Inputs, asked: Parameters) -> int | None:
    """Return the limit of input and output together in tokens; None if unknown."""
    if inputs.context_limit is not None:
        return inputs.context_limit
    if asked.context_limit is not None:
        return asked.context_limit.value
    return inputs.endpoint.facts_of(asked.model.value).context_limit


def reply_reserve(inputs: Inputs, asked: Parameters, limit: int | None) -> int:
    """Return the tokens reserved for the reply: reply_reserve, else max_tokens, else the endpoint's
    reply limit, but then no more than a share of the context.
    """
    if inputs.reply_reserve is not None:
        return inputs.reply_reserve
    if asked.reply_reserve is not None:
        return asked.reply_reserve.value
    if asked.max_tokens is not None:
        return asked.max_tokens.value
    if limit is None:
        return 0
    # The protocol's default limit may be most of the context; reserving all of it would leave no
    # room for the history.
    return min(inputs.endpoint.max_tokens or USUAL_RESERVE, limit // RESERVE_SHARE)


def _origin(setting: str, by: str) -> Origin:
    return Origin(OriginKind.SETTING, setting, f"{setting}, set by the {by}")
