"""Markdown as HTML, for where no widget is shown."""

from markdown_it import MarkdownIt

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


def to_html(markdown: str) -> str:
    """Return Markdown as HTML; what is HTML in it already stays text."""
    return _MARKDOWN.render(str(markdown))
