"""What the user configured: file < environment < flags, read once and passed down.

values      Config
ready_made  the endpoints that are there without any configuration
facts       what is known of their models, as data
file        the TOML file; imported only where there is one to read
schema      what may stand in it, checked by pydantic
toml_file   a TOML file, of settings or of a theme, as tables
"""

from tui_chat.config.ready_made import BUILT_IN_ENDPOINTS, LOOPBACK_URL
from tui_chat.config.values import Config, load_config

__all__ = ["BUILT_IN_ENDPOINTS", "LOOPBACK_URL", "Config", "load_config"]
