"""What the user configured: file < environment < flags, read once and passed down.

values      Config and the endpoints that are there without any configuration
file        the TOML file, checked by pydantic; imported only where there is one to read
"""

from tui_chat.config.values import BUILT_IN_ENDPOINTS, LOOPBACK_URL, Config, load_config

__all__ = ["BUILT_IN_ENDPOINTS", "LOOPBACK_URL", "Config", "load_config"]
