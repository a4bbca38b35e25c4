"""What tests share."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockbp
from blockbp import _run

# A shell lets what it starts in the background ignore SIGINT, and processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def own_folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Temporary folders of the tests lie in one of their own: others may fit on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("tmp")))
        patch.setattr("tempfile.tempdir", None)
        yield


@pytest.fixture(autouse=True)
def nothing_left() -> Any:
    """No test leaves a folder where temporary folders are."""
    before = leftovers()
    yield
    assert leftovers() <= before


def leftovers() -> set[str]:
    """Return the temporary folders that are there."""
    parent = os.environ["TMPDIR"]
    return {os.path.join(parent, n) for n in os.listdir(parent) if os.path.exists(os.path.join(parent, n, _run._LOCK))}


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., str]:
    """Return what runs the command in the test's folder."""

    def run(*arguments: str) -> str:
        return subprocess.run([blockbp.binary(), *arguments], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    return run


def stripes(pictures: int = 4, rows: int = 12, columns: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return noisy pictures of stripes: features [N, rows, columns, 3] and classes [N, rows, columns]."""
    rng = np.random.default_rng(seed)
    y = np.add.outer(np.arange(rows), np.arange(columns))[None] // np.arange(4, 4 + pictures)[:, None, None] % 3
    return np.eye(3)[y] + rng.normal(0, 0.7, (*y.shape, 3)), y
