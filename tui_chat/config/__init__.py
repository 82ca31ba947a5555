"""The user's configuration: file < environment < flags, read once and passed down.

values              Config, and its sources: file < environment < flags
built_in_endpoints  the endpoints that exist without any configuration
file                config.toml: its keys, reading and changing it; imported only if there is one
"""

from tui_chat.config.built_in_endpoints import (
    LOOPBACK_URL,
    default_endpoints,
    repeats_offline_models,
    standard_endpoint,
)
from tui_chat.config.values import (
    OFFLINE_ENDPOINT,
    Config,
    endpoints_with_key,
    lacks_key,
    load_config,
)

__all__ = [
    "LOOPBACK_URL",
    "OFFLINE_ENDPOINT",
    "Config",
    "default_endpoints",
    "endpoints_with_key",
    "lacks_key",
    "load_config",
    "repeats_offline_models",
    "standard_endpoint",
]
