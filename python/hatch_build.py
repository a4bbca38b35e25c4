"""Puts the binary of one platform into a wheel.

``BLOCKBP_TARGET`` is the platform, such as ``linux-amd64``, and ``BLOCKBP_BINARIES`` the
folder with ``<target>/blockbp``; ``make wheels`` sets both. Without them the binary is
built for this machine by the Go compiler, from the repository around this folder.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The static binary needs no libc: one wheel serves glibc and musl.
TAGS = {
    "linux-amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux-arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin-amd64": "macosx_12_0_x86_64",  # Go's oldest macOS
    "darwin-arm64": "macosx_12_0_arm64",
    "windows-amd64": "win_amd64",
}


def this_machine() -> str:
    """Return the target of the machine that builds."""
    machine = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
    name = f"{platform.system().lower()}-{machine.get(platform.machine().lower(), platform.machine())}"
    if name not in TAGS:
        raise SystemExit(f"there is no wheel for {name}; known platforms are {', '.join(TAGS)}")
    return name


class Hook(BuildHookInterface):  # type: ignore[type-arg]
    """The hook that hatchling calls."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return  # uses BLOCKBP_BINARY, or the blockbp on the PATH
        target = os.environ.get("BLOCKBP_TARGET") or this_machine()
        if target not in TAGS:
            raise SystemExit(f"BLOCKBP_TARGET is {target!r}; known platforms are {', '.join(TAGS)}")
        name = "blockbp.exe" if target.startswith("windows") else "blockbp"
        folder = os.environ.get("BLOCKBP_BINARIES")
        binary = Path(folder, target, name) if folder else self.compile(target, name)
        if not binary.is_file() or binary.stat().st_size == 0:
            raise SystemExit(f"{binary} is missing: a wheel without the binary is of no use; run make wheels")
        binary.chmod(0o755)
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + TAGS[target]
        for source, inside in {"LICENSE": "LICENSE", "internal/cli/notices.txt": "NOTICES"}.items():
            build_data["force_include"][str(Path(self.root).parent / source)] = f"blockbp/{inside}"
        build_data["shared_scripts"] = {str(binary): name}  # into bin/, which is on the PATH
        # The version beside the package, which the binary has to have.
        said = self.version()
        if f"v{said}".encode() not in binary.read_bytes():
            raise SystemExit(f"{binary} is not of version {said}: run make wheels")
        stamp = Path(self.directory, "VERSION").absolute()
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(said + "\n", encoding="utf-8")
        build_data["force_include"][str(stamp)] = "blockbp/VERSION"

    def version(self) -> str:
        """Return the version, which the program has, too."""
        found = re.search(r'const release = "v([^"]+)"', Path(self.root).parent.joinpath("internal/cli/version.go").read_text(encoding="utf-8"))
        assert found is not None
        return found[1]

    def compile(self, target: str, name: str) -> Path:
        """Build the binary with Go."""
        if shutil.which("go") is None:
            raise SystemExit("no Go compiler is on the PATH, and BLOCKBP_BINARIES is not set: run make wheels where Go is")
        system, machine = target.split("-")
        binary = Path(self.directory, target, name).absolute()
        subprocess.run(
            ["go", "build", "-trimpath", "-buildvcs=false", "-tags", "static", "-ldflags", "-s -w", "-o", str(binary), "./cmd/blockbp"],
            cwd=Path(self.root).parent,
            env={**os.environ, "CGO_ENABLED": "0", "GOOS": system, "GOARCH": machine},
            check=True,
        )
        return binary
