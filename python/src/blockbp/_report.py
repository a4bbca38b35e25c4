"""Pages and pictures of a training."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Page:
    """A page of HTML, which a notebook shows by itself.

    Attributes
    ----------
    html : str
        The page.
    """

    def __init__(self, text: str) -> None:
        self.html = text or "<p>The training was interrupted before its report, or the model was loaded.</p>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def open(self) -> str:
        """Show the page in a browser, and return the file it is in, which stays."""
        import tempfile
        import webbrowser
        from pathlib import Path

        handle, path = tempfile.mkstemp(prefix="report-", suffix=".html")
        os.close(handle)
        self.save(path)
        webbrowser.open(Path(path).as_uri())
        return path

    def _repr_html_(self) -> str:
        import html

        return f'<iframe srcdoc="{html.escape(self.html)}" style="width:100%;height:40em;border:0"></iframe>'


def curve(values: NDArray[Any]) -> str:
    """Return a small SVG of a curve."""
    wide, high, most = 240, 60, 240
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return ""
    at = np.unique(np.linspace(0, len(values) - 1, min(most, len(values))).astype(int))
    y = values[at]
    low, span = y.min(), max(float(np.ptp(y)), 1e-300)
    points = " ".join(f"{wide * i / max(1, len(values) - 1):.1f},{high - (high - 4) * (v - low) / span - 2:.1f}" for i, v in zip(at, y))
    return f'<svg width="{wide}" height="{high}"><polyline points="{points}" fill="none" stroke="currentColor"/></svg>'
