"""A link, opened in a browser with a window of its own: ours is taken.

Python knows which browsers there are, but lets them write on our screen, and where there is no
desktop it would start one in the terminal, on top of us.
"""

from __future__ import annotations

import subprocess
import webbrowser
from pathlib import Path

_IN_THE_TERMINAL = {"www-browser", "links", "links2", "elinks", "lynx", "w3m", "browsh", "carbonyl"}
AT_MOST = 2.0
"""Seconds after which a browser that is still there has opened the link."""


def open_link(url: str) -> bool:
    """Open a link, and return whether that went well; it may take a while."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    if Path(browser.name).name in _IN_THE_TERMINAL:
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
        return started.wait(AT_MOST) == 0
    except subprocess.TimeoutExpired:
        return True
    except OSError:
        return False
