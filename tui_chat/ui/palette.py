"""Names of styles, turned into the colours of the theme."""

from __future__ import annotations

from rich.style import Style
from textual.color import Color
from textual.widget import Widget


class Palette:
    """The styles of one widget's component classes, mixed on its background.

    A style is its names' component classes over each other: `("quiet", "strong", "code")`.
    Each may set a background, a colour (either may be see-through) and text styles.
    """

    def __init__(self, widget: Widget, prefix: str, carrier: Widget | None = None) -> None:
        self._widget = widget
        self._prefix = prefix
        self._carrier = carrier or widget
        """Whose component classes they are; until it is mounted there is one style for all."""
        self._known: dict[tuple[str, ...], Style] = {}

    def clear(self) -> None:
        """Forget the colours: the theme has changed."""
        self._known.clear()

    def __call__(self, *names: str) -> Style:
        """Return the style of these names over each other; empty names count for nothing."""
        found = self._known.get(names)
        if found is None and not self._carrier.is_mounted:
            return self._mixed(())
        if found is None:
            found = self._known[names] = self._mixed(names)
        return found

    def _mixed(self, names: tuple[str, ...]) -> Style:
        widget = self._widget
        _, background = widget.background_colors
        ink = background + widget.styles.color
        text = Style.null()
        inks: list[Color] = [ink]
        for name in names:
            if not name:
                continue
            styles = self._carrier.get_component_styles(f"{self._prefix}--{name}")
            if styles.has_rule("background"):
                background = background + styles.background
            if styles.has_rule("color"):
                inks.append(
                    background.get_contrast_text(styles.color.a)
                    if styles.auto_color
                    else styles.color
                )
            text += styles.text_style
        ink = background + inks[-1]
        return Style.from_color(ink.rich_color, background.rich_color) + text
