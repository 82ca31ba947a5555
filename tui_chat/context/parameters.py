"""Settings of a request: from the session, else the preset, else the role, else the endpoint; the
model from the session, else the role, else the endpoint.
"""

from __future__ import annotations

from typing import Any

from tui_chat.context.inputs import Inputs
from tui_chat.models.envelope import Parameters, RequestSettings
from tui_chat.models.setting_types import SETTINGS
from tui_chat.models.settings import NO_SETTINGS, setting_values
from tui_chat.models.text import Origin, OriginKind

_REASONING = frozenset({"effort", "reasoning_budget"})
RESERVE_SHARE = 4
"""Without a reply limit, at most this fraction (a fourth) of the context is reserved."""

USUAL_RESERVE = 4096
"""Tokens reserved for the reply if neither a setting nor the endpoint says how many."""
_STREAM = {
    True: Origin(OriginKind.SETTING, "stream", "stream: the reply is shown as it arrives"),
    False: Origin(OriginKind.SETTING, "stream", "stream: the reply is wanted whole"),
}


def parameters(inputs: Inputs) -> Parameters:
    """Return the parameters of a request, each with the origin that set it.

    Effort and reasoning budget are one choice: only the one with higher precedence is used.
    """
    model, by = _model(inputs)
    values: dict[str, Any] = {"model": model, "stream": inputs.stream}
    origins = {"model": _origin("model", by), "stream": _STREAM[inputs.stream]}
    for settings, by in inputs.setting_places:
        if settings is NO_SETTINGS:
            continue
        is_chosen = not values.keys().isdisjoint(_REASONING)
        for name, value in zip(SETTINGS, setting_values(settings), strict=True):
            if value is None or name in values or (is_chosen and name in _REASONING):
                continue
            values[name], origins[name] = value, _origin(name, by)
    if values.get("stop") == ():
        del values["stop"], origins["stop"]
    return Parameters(RequestSettings(**values), origins)


def _model(inputs: Inputs) -> tuple[str, str]:
    """Return the model, and who chose it."""
    endpoint, role = inputs.endpoint, inputs.active_role
    if inputs.settings.model:
        return inputs.settings.model, "session"
    if role is not None and role.model:
        return role.model, f"role {role.name}"
    return endpoint.models[0] if endpoint.models else "", f"endpoint {endpoint.name}"


def context_limit(inputs: Inputs, asked: Parameters) -> int | None:
    """Return the limit of input and output together in tokens; None if unknown."""
    if inputs.context_limit is not None:
        return inputs.context_limit
    if asked.values.context_limit is not None:
        return asked.values.context_limit
    return inputs.endpoint.facts_of(asked.values.model).context_limit


def reply_reserve(inputs: Inputs, asked: Parameters, limit: int | None) -> int:
    """Return the tokens reserved for the reply: reply_reserve, else max_tokens, else the endpoint's
    reply limit, but then no more than a share of the context.
    """
    if inputs.reply_reserve is not None:
        return inputs.reply_reserve
    if asked.values.reply_reserve is not None:
        return asked.values.reply_reserve
    if asked.values.max_tokens is not None:
        return asked.values.max_tokens
    if limit is None:
        return 0
    # The protocol's default limit may be most of the context; reserving all of it would leave no
    # room for the history.
    return min(inputs.endpoint.max_tokens or USUAL_RESERVE, limit // RESERVE_SHARE)


def _origin(setting: str, by: str) -> Origin:
    return Origin(OriginKind.SETTING, setting, f"{setting}, set by the {by}")
