"""Model files that are damaged, hostile or something else."""

from __future__ import annotations

import json
import os
import random
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blockbp import BlockbpError, ChainCRF, GraphCRF, GridCRF, IsingModel, PottsModel
from conftest import stripes

# How many single bits are flipped; a long run is told in the environment.
FLIPS = int(os.environ.get("BLOCKBP_FLIPS", "12"))

CLASSES = (ChainCRF, GraphCRF, GridCRF, IsingModel, PottsModel)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return a model file of each of two classes."""
    folder = tmp_path_factory.mktemp("models")
    X, y = stripes(2, 6, 6)
    GridCRF().fit(X, y).save(folder / "GridCRF")
    spins = np.random.default_rng(1).choice([-1, 1], (50, 3))
    IsingModel().fit(spins).save(folder / "IsingModel")
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def refused(cls: Any, path: Path) -> str:
    """Load what must be refused and return why."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(BlockbpError) as caught:
            cls.load(path)
    return str(caught.value)


def test_flipped_bits(models: dict[str, bytes], tmp_path: Path) -> None:
    """A model with any bit flipped is refused; the last of a weight, which no rule of headers sees, by the checksum, and by name."""
    draw = random.Random(1)
    for name, cls in (("GridCRF", GridCRF), ("IsingModel", IsingModel)):
        data = models[name]
        header = 8 + int.from_bytes(data[:8], "little")
        for n in range(FLIPS):
            at = draw.randrange(header if n % 2 else len(data))
            bit = 1 << draw.randrange(8)
            (tmp_path / "m").write_bytes(data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :])
            assert "m" in refused(cls, tmp_path / "m"), (name, at, bit)
        (tmp_path / "m").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        assert re.search(f"{re.escape(repr(str(tmp_path / 'm')))}.*checksum", refused(cls, tmp_path / "m"))


ZEROS = "crc32c:00000000"


def resealed(data: bytes, change: Any) -> bytes:
    """Return a model whose header is changed, under a right checksum: what it says is not seen before it is believed."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header["__metadata__"]["checksum"] = ZEROS
    text = change(header)
    encoded = (text if isinstance(text, str) else json.dumps(header)).encode()
    whole = len(encoded).to_bytes(8, "little") + encoded + data[8 + size :]
    return whole.replace(ZEROS.encode(), f"crc32c:{crc32c(whole):08x}".encode(), 1)


TABLE = []
for entry in range(256):
    for _ in range(8):
        entry = entry >> 1 ^ (0x82F63B78 if entry & 1 else 0)
    TABLE.append(entry)


def crc32c(data: bytes) -> int:
    """Return the checksum of CRC-32C, bit-reflected."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def set_meta(key: str, value: Any) -> Any:
    """Return what sets an entry of the metadata."""
    return lambda header: header["__metadata__"].__setitem__(key, value)


DEEP = "[" * 5000 + "]" * 5000

HOSTILE = {
    "metadata of numbers": set_meta("schema", 3),
    "metadata null": lambda header: header.__setitem__("__metadata__", None),
    "a schema that is a list": set_meta("schema", "[]"),
    "a schema that is null": set_meta("schema", "null"),
    "types that are a number": set_meta("schema", '{"node_types":3,"edge_types":3}'),
    "states that are null": set_meta("schema", '{"node_types":[{"name":"node","states":null,"features":3}],"edge_types":[]}'),
    "a deep schema": set_meta("schema", DEEP),
    "a deep recipe": set_meta("recipe", DEEP),
    "a deep training": set_meta("training", DEEP),
    "a deep field of training": set_meta("training", '{"x":' + DEEP + "}"),
    "training that is a list": set_meta("training", "[]"),
    "training that is null": set_meta("training", "null"),
    "a status that is a list": set_meta("training", '{"status":[]}'),
    "a recipe that is null": set_meta("recipe", "null"),
    "a recipe that is a text": set_meta("recipe", '"x"'),
    "about that is a number": set_meta("recipe", '{"kind":"npz","node_form":"dense","edge_form":"constant","about":3}'),
    "deep about": set_meta("recipe", json.dumps({"kind": "npz", "node_form": "dense", "edge_form": "constant", "about": DEEP})),
    "edges in about that are texts": set_meta("recipe", json.dumps({"kind": "npz", "node_form": "constant", "edge_form": "constant", "untied": True, "about": '{"edges":"x"}'})),
    "a deep header": lambda header: '{"x":' + DEEP + "}",
    "a header that is a list": lambda header: "[]",
    "no tensors": lambda header: [header.pop(k) for k in list(header) if k != "__metadata__"],
    "a shape that is null": lambda header: header["node.node"].__setitem__("shape", None),
    "a huge shape": lambda header: header["node.node"].__setitem__("shape", [2**62, 2**62]),
    "offsets beyond the file": lambda header: header["node.node"].__setitem__("data_offsets", [0, 2**60]),
    "a tensor that is a number": lambda header: header.__setitem__("node.node", 1),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_headers(what: str, models: dict[str, bytes], tmp_path: Path) -> None:
    """Whatever a header says, each class loads the model or refuses it with a BlockbpError."""
    for name in ("GridCRF", "IsingModel"):
        (tmp_path / "m").write_bytes(resealed(models[name], HOSTILE[what]))
        for cls in CLASSES:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    cls.load(tmp_path / "m")
                except BlockbpError as err:
                    assert str(tmp_path / "m") in str(err) or "this model" in str(err)


def test_resealed(models: dict[str, bytes], tmp_path: Path) -> None:
    """Without a change the files of these attacks are sound."""
    for name, cls in (("GridCRF", GridCRF), ("IsingModel", IsingModel)):
        (tmp_path / "m").write_bytes(resealed(models[name], lambda header: None))
        cls.load(tmp_path / "m")


def test_other_files(models: dict[str, bytes], tmp_path: Path) -> None:
    """What is no model is refused, and a missing file is missing."""
    for text in (b"", b"nothing", b"\xff" * 100, models["GridCRF"][:200], models["GridCRF"] + b"x", (1 << 40).to_bytes(8, "little") + b"{}"):
        (tmp_path / "m").write_bytes(text)
        refused(GridCRF, tmp_path / "m")
    assert "no regular file" in refused(GridCRF, tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert "no regular file" in refused(GridCRF, tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        GridCRF.load(tmp_path / "missing")
