"""The examples in docstrings and in the README run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import blockbp


def test_docstrings() -> None:
    """What docstrings show is what comes."""
    tried = 0
    for module in pkgutil.iter_modules(blockbp.__path__):
        if module.name not in ("__main__", "torch"):  # test_torch.py has that of the layer
            result = doctest.testmod(importlib.import_module(f"blockbp.{module.name}"))
            assert result.failed == 0, module.name
            tried += result.attempted
    assert tried > 0


HERE = Path(__file__).parent.parent


@pytest.mark.parametrize("page", [HERE / "README.md", *sorted((HERE / "docs").glob("*.md"))], ids=lambda page: str(page.name))
def test_pages(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of a page run, one after the other, and draw the pictures that they name."""
    programs = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    assert programs
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for program in programs:
        for package in re.findall(r"^(?:from|import) (torch|sklearn|matplotlib|networkx)", program, re.M):
            pytest.importorskip(package)
        exec(program, names)
        for picture in re.findall(r'savefig\("(.*?)"', program):
            assert Path(picture).stat().st_size > 10_000


def test_what_is_public() -> None:
    """All that is public is somewhere, once, and its texts say so to tools."""
    said = Path(str(blockbp.__file__)).read_text(encoding="utf-8")
    assert sorted(re.findall(r"(\w+) as \1\b", said)) == blockbp.__all__
    assert set(blockbp.__all__) < set(dir(blockbp)) and not hasattr(blockbp, "nothing")


def test_docstrings_of_what_is_public() -> None:
    """Everything public has a text, and no placeholder is left in it."""
    for name in blockbp.__all__:
        thing = getattr(blockbp, name)
        assert thing.__doc__ and not re.search(r"\{\w+\}", thing.__doc__), name
        if isinstance(thing, type):
            for method, value in vars(thing).items():
                assert method.startswith("_") or not callable(value) or value.__doc__, f"{name}.{method}"
