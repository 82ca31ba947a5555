"""Opens links in a graphical browser.

`webbrowser` finds the browser, but lets it write on the screen, and without a desktop it would
start a text browser in our terminal.
"""

from __future__ import annotations

import subprocess
import webbrowser
from pathlib import Path

_TERMINAL_BROWSERS = {
    "www-browser",
    "links",
    "links2",
    "elinks",
    "lynx",
    "w3m",
    "browsh",
    "carbonyl",
}
TIMEOUT = 2.0
"""Seconds after which a browser that still runs has opened the link."""


def open_link(url: str) -> bool:
    """Open a link; blocks for a moment. Return False if no browser could open it."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    if Path(browser.name).name in _TERMINAL_BROWSERS:
        return False
    if not isinstance(browser, webbrowser.GenericBrowser):
        return browser.open(url)
    try:
        started = subprocess.Popen(  # noqa: S603 - the user's own browser, no shell
            [browser.name, *(argument.replace("%s", url) for argument in browser.args)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return started.wait(TIMEOUT) == 0
    except subprocess.TimeoutExpired:
        return True
    except OSError:
        return False
