"""The configuration file, `config.toml`.

    endpoint = "work"            # what new sessions use
    model = "gpt-5-mini"
    theme = "tui-chat-light"

    [keys]
    new = "ctrl+n,f9"            # an action's id, and its keys

    [endpoints.work]
    protocol = "openai_chat"     # or openai_responses, anthropic, gemini
    base_url = "https://llm.example.org/v1"
    key = "env:WORK_LLM_KEY"     # where the key is; never the key itself
    models = ["gpt-5-mini", "gpt-5"]
    headers = { "X-Team" = "search" }

    [endpoints.work.facts."gpt-5"]
    context_limit = 400000
    sampling = false

Unknown keys are faults: a misspelled setting that does nothing would be worse.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from tui_chat.config.values import Config
from tui_chat.errors import ConfigError
from tui_chat.model.endpoint import Endpoint, ModelFacts, Protocol


def _no_trailing_slash(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError("must begin with http:// or https://")
    return url.rstrip("/")


def _is_reference(key: str) -> str:
    if key and not key.startswith("env:"):
        raise ValueError("must be a reference such as “env:NAME”, never the key itself")
    return key


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Facts(_Strict):
    context_limit: int | None = Field(None, gt=0)
    sampling: bool | None = None
    developer_role: bool = False
    mid_history_system: bool = False


class _Endpoint(_Strict):
    protocol: Protocol
    base_url: Annotated[str, AfterValidator(_no_trailing_slash)]
    key: Annotated[str, AfterValidator(_is_reference)] = ""
    models: tuple[str, ...] = ()
    headers: dict[str, str] = Field(default_factory=dict)
    facts: dict[str, _Facts] = Field(default_factory=dict)
    system_fallback: Literal["hoist", "user"] = "hoist"
    max_tokens_key: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    max_tokens: int = Field(4096, gt=0)


class _File(_Strict):
    endpoint: str | None = None
    model: str | None = None
    theme: str | None = None
    keys: dict[str, str] = Field(default_factory=dict)
    endpoints: dict[str, _Endpoint] = Field(default_factory=dict)


def read_config_file(path: Path, defaults: Config) -> Config:
    """Read the file over the defaults. Raises ConfigError naming file, key and fault."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not TOML: {error}") from error
    try:
        found = _File.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        # The faulty value is not repeated: somebody may have put a key there.
        raise ConfigError(f"{path}: {place}: {first['msg']}") from None
    endpoints = {endpoint.name: endpoint for endpoint in defaults.endpoints}
    endpoints.update((name, _endpoint(name, given)) for name, given in found.endpoints.items())
    return replace(
        defaults,
        endpoints=tuple(endpoints.values()),
        endpoint=found.endpoint or defaults.endpoint,
        model=found.model or defaults.model,
        theme=found.theme or defaults.theme,
        keys=tuple(found.keys.items()),
    )


def _endpoint(name: str, given: _Endpoint) -> Endpoint:
    return Endpoint(
        name=name,
        protocol=given.protocol,
        base_url=given.base_url,
        key=given.key,
        models=given.models,
        headers=tuple(given.headers.items()),
        facts=tuple(
            (
                model,
                ModelFacts(f.context_limit, f.sampling, f.developer_role, f.mid_history_system),
            )
            for model, f in given.facts.items()
        ),
        system_fallback=given.system_fallback,
        max_tokens_key=given.max_tokens_key,
        max_tokens=given.max_tokens,
    )
