"""What goes into the wheel."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("hatchling")
sys.path.insert(0, str(Path(__file__).parent.parent))
import hatch_build  # noqa: E402


def hook() -> hatch_build.Hook:
    """Return the hook of a build."""
    root = str(Path(hatch_build.__file__).parent)
    return hatch_build.Hook(root, {}, None, None, root, "wheel")


def test_a_wheel_without_the_binary_is_no_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The build fails where the binary is missing, or empty, or the platform is unknown."""
    monkeypatch.setenv("BLOCKBP_BINARIES", str(tmp_path))
    monkeypatch.setenv("BLOCKBP_TARGET", "linux-arm64")
    with pytest.raises(SystemExit, match=r"linux-arm64/blockbp is missing.*make wheels"):
        hook().initialize("standard", {})
    binary = tmp_path / "linux-arm64" / "blockbp"
    binary.parent.mkdir()
    binary.touch()
    with pytest.raises(SystemExit, match="is missing"):
        hook().initialize("standard", {})
    binary.write_text("a binary, v0.0.0-other")
    with pytest.raises(SystemExit, match=r"blockbp is not of version \d.*make wheels"):
        hook().initialize("standard", {"force_include": {}})
    said = hook().version()
    binary.write_text(f"a binary, v{said}")
    data: dict[str, dict[str, str]] = {"force_include": {}}
    made = hook()
    monkeypatch.setattr(type(made), "directory", str(tmp_path))
    made.initialize("standard", data)
    included = {inside: Path(source).read_text(encoding="utf-8") for source, inside in data["force_include"].items()}
    assert included["blockbp/LICENSE"] in included["blockbp/NOTICES"] and "Bigelow & Holmes" in included["blockbp/NOTICES"]
    assert included["blockbp/VERSION"] == said + "\n"
    assert data["shared_scripts"] == {str(binary): "blockbp"} and "aarch64" in str(data["tag"]) and data["pure_python"] is False
    monkeypatch.setenv("BLOCKBP_TARGET", "plan9-amd64")
    with pytest.raises(SystemExit, match="plan9-amd64.*known platforms"):
        hook().initialize("standard", {})


def test_every_platform_has_a_tag() -> None:
    """The platforms of the Makefile are those that wheels are known for."""
    makefile = Path(hatch_build.__file__).parent.parent / "Makefile"
    platforms = re.search(r"^PLATFORMS := (.*)$", makefile.read_text(), re.M)
    assert platforms and {p.replace("/", "-") for p in platforms[1].split()} == set(hatch_build.TAGS)
