"""Style names, resolved to Rich styles of the current theme."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rich.style import Style
from textual.color import Color
from textual.css.styles import RenderStyles
from textual.dom import DOMNode
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.app import App


class LazyComponents(Widget):
    """A widget whose component classes are styled when they are first used.

    Textual styles all of them with each change of style, and most lists and texts show few at a
    time. As a second base it goes behind the Textual class whose CSS applies.
    """

    _used_components: frozenset[str] = frozenset()

    # What Textual styles; there is no public hook.
    def _get_component_classes(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]  a class method there
        return self._used_components

    def get_component_styles(self, *names: str) -> RenderStyles:
        """Return the styles of component classes over each other. Raises KeyError."""
        unused = super()._get_component_classes().intersection(names) - self._used_components
        for name in unused:
            node = DOMNode(classes=name)
            node._attach(self)  # as Textual does; no public way
            cast("App[object]", self.app).stylesheet.apply(node)  # pyright: ignore[reportUnknownMemberType]  Textual types it App[Unknown]
            self._component_styles[name] = node.styles
        self._used_components |= unused
        return super().get_component_styles(*names)


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
