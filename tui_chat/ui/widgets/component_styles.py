"""Style names, resolved to Rich styles of the current theme."""

from __future__ import annotations

from rich.style import Style
from textual.color import Color
from textual.widget import Widget


class ComponentStyles:
    """The styles of a widget's component classes, blended onto its background.

    `styles("quiet", "strong", "code")` is the style of these component classes over each other.
    Each may set a background, a color (both possibly translucent) and text styles.
    """

    def __init__(self, widget: Widget, prefix: str) -> None:
        """Until the widget is mounted, all names mean the plain style."""
        self._widget = widget
        self._prefix = prefix
        self._styles: dict[tuple[str, ...], Style] = {}

    def clear(self) -> None:
        """Forget all styles, because the theme changed."""
        self._styles.clear()

    def __call__(self, *names: str) -> Style:
        """Return the style of these names over each other; empty names are ignored."""
        style = self._styles.get(names)
        if style is None and not self._widget.is_mounted:
            return self._blend(())
        if style is None:
            style = self._styles[names] = self._blend(names)
        return style

    def _blend(self, names: tuple[str, ...]) -> Style:
        widget = self._widget
        _, background = widget.background_colors
        foregrounds: list[Color] = [background + widget.styles.color]
        text = Style.null()
        for name in names:
            if not name:
                continue
            styles = widget.get_component_styles(f"{self._prefix}--{name}")
            if styles.has_rule("background"):
                background = background + styles.background
            if styles.has_rule("color"):
                foregrounds.append(
                    background.get_contrast_text(styles.color.a)
                    if styles.auto_color
                    else styles.color
                )
            text += styles.text_style
        foreground = background + foregrounds[-1]
        return Style.from_color(foreground.rich_color, background.rich_color) + text
