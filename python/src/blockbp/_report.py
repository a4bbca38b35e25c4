"""The page of a training."""

from __future__ import annotations

import html


class Page:
    """A page of HTML, which a notebook shows by itself.

    Attributes
    ----------
    html : str
        The page.
    """

    def __init__(self, text: str) -> None:
        self.html = text or "<p>The training was interrupted before its report, or the model was loaded.</p>"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.html)}" style="width:100%;height:40em;border:0"></iframe>'
