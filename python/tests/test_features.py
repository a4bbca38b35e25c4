"""Feature maps of photographs, by tiny networks whose formulas are known."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blockbp import features

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
Image = pytest.importorskip("PIL.Image")

SIZES = {"a": (5, 4), "b": (3, 6), "c": (5, 4)}  # width, height
MIXING = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 2]], np.float32)  # red, green, blue, twice blue less red


def network(path: Path, dims: list[Any] | None = None, stride: int = 1, kind: int = 1, last: bool = False) -> Path:
    """Write a network of a 1×1 convolution, mixed, of every stride-th pixel, a ReLU of it, and the largest channel."""
    make = onnx.helper.make_node
    dims = dims or (["n", "h", "w", 3] if last else ["n", 3, "h", "w"])
    nodes = [make("Cast", ["picture"], ["numbers"], to=1)]
    nodes += [make("Transpose", ["numbers"], ["first"], perm=[0, 3, 1, 2] if last else [0, 1, 2, 3])]
    nodes += [make("Conv", ["first", "w"], ["mixed"], name="step mixed", strides=[stride, stride])]
    nodes += [make("Relu", ["mixed"], ["positive"]), make("ArgMax", ["positive"], ["labels"], axis=1)]
    if last:
        nodes += [make("Transpose", ["mixed"], ["mixed last"], perm=[0, 2, 3, 1])]
    value, weights = onnx.helper.make_tensor_value_info, onnx.numpy_helper.from_array(MIXING[:, :, None, None], "w")
    output = [value("mixed last", 1, None)] if last else [value("labels", 7, None)]
    graph = onnx.helper.make_graph(nodes, "test", [value("picture", kind, dims)], output, [weights])
    model = onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 13)])
    path.write_bytes(model.SerializeToString())
    return path


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Return a folder of photographs whose pixels all differ."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for id, (width, height) in SIZES.items():
        i = np.arange(width * height).reshape(height, width)
        Image.fromarray(np.stack([3 * i, 255 - 5 * i, 40 + 7 * i], 2).astype(np.uint8)).save(folder / f"{id}.png")
    return folder


@pytest.mark.parametrize(
    ("options", "mean", "std", "kind"),
    [
        ({"layer": "mixed", "dtype": "float32"}, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), 1),
        ({"layer": "step mixed"}, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), 10),
        ({"layer": "mixed", "bgr": True}, (0.406, 0.456, 0.485), (0.225, 0.224, 0.229), 1),
        ({"layer": "mixed", "mean": (0, 0.5, 1), "std": (1, 2, 0.5), "bgr": True}, (0, 0.5, 1), (1, 2, 0.5), 1),
        ({"dtype": "float32", "layer_layout": "nhwc"}, (0, 0, 0), (1 / 255,) * 3, 2),
    ],
)
def test_maps_follow_the_formula(tmp_path: Path, photos: Path, options: dict[str, Any], mean: Any, std: Any, kind: int) -> None:
    """Maps are what the network's formula says of the pixels, whatever the order of axes and channels, and the type."""
    net = network(tmp_path / "net.onnx", kind=kind, last=kind == 2)
    made = features.make(photos, net, tmp_path / "out", **options)
    assert made["made"] == 3 and made["kept"] == 0 and made["features"] == 4 and made["layer"].startswith("mixed")
    for id, (width, height) in SIZES.items():
        pixels = np.asarray(Image.open(photos / f"{id}.png"))[..., :: -1 if options.get("bgr") else 1] / 255.0
        got = np.load(tmp_path / "out" / f"{id}.npy")
        assert got.shape == (height, width, 4) and got.dtype == options.get("dtype", "float16")
        want = (pixels - mean) / std @ MIXING.T
        np.testing.assert_allclose(got, want, rtol=2e-3 if kind == 10 else 1e-3 if got.dtype == "float16" else 1e-6, atol=8e-3 if kind == 10 else 2e-3)


def test_train_reads_maps_of_networks_of_one_size(tmp_path: Path, command: Callable[..., str]) -> None:
    """A photograph keeps its shape in a network of one size and two photographs, and train learns from its part."""
    command("example", "images", "-o", "data")
    data = tmp_path / "data"
    (data / "dataset.json").unlink()  # it has names of other features
    with Image.open(next((data / "images").iterdir())) as picture:
        width, height = picture.size
    network(tmp_path / "net.onnx", [2, 3, 64, 64], stride=2)
    made = features.make(data, tmp_path / "net.onnx", tmp_path / "maps", layer="mixed", ids="train.txt")
    side = 32 / max(width, height)
    got = np.load(next((tmp_path / "maps").glob("*.npy")))
    assert got.shape == (round(height * side), round(width * side), 4) and made["made"] == len((data / "train.txt").read_text().split())
    command("train", "data", "--features", "maps", "--list", "train.txt", "-o", "run", "-q", "--max-iter", "5")
    assert json.loads(command("info", "run", "--json"))


def test_resume(tmp_path: Path, photos: Path) -> None:
    """Maps that are there stay, those that are not are made, and none are mixed with others."""
    net, out, ids = network(tmp_path / "net.onnx"), tmp_path / "out", tmp_path / "ids.txt"
    ids.write_text("# two\nb\na.png\n")
    assert features.make(photos, net, out, layer="mixed", ids=ids)["made"] == 2
    before = (out / "a.npy").stat().st_mtime_ns
    with pytest.raises(FileExistsError, match="not empty"):
        features.make(photos, net, out, layer="mixed")
    for other in ({"layer": "positive"}, {"layer": "mixed", "dtype": "float32"}, {"layer": "mixed", "bgr": True}):
        with pytest.raises(ValueError, match="maps there were made with"):
            features.make(photos, net, out, resume=True, **other)
    made = features.make(photos, net, out, layer="mixed", resume=True)
    assert (made["made"], made["kept"]) == (1, 2) and (out / "a.npy").stat().st_mtime_ns == before
    assert sorted(p.name for p in out.iterdir()) == ["a.npy", "b.npy", "c.npy", "features.json"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"layer": "mixd"}, "no layer 'mixd'.*did you mean mixed"),
        ({}, "int64.*choose another layer"),
        ({"layout": "chw"}, "nchw or nhwc"),
        ({"layer": "mixed", "layout": "nhwc"}, "name a size"),
        ({"layer": "mixed", "std": (1, 0, 1)}, "want three numbers"),
        ({"layer": "mixed", "std": (0.001, 0.001, 0.001), "mean": (-255, 0, 0)}, "want a finite number; float16"),
        ({"layer": "mixed", "ids": "list.txt"}, "list.txt:2: 0 pictures are named 'z'"),
    ],
)
def test_mistakes(tmp_path: Path, photos: Path, options: dict[str, Any], says: str) -> None:
    """Each is named, with what to do, and leaves no folder."""
    (photos / "list.txt").write_text("a\nz\n")
    with pytest.raises(ValueError, match=says):
        features.make(photos, network(tmp_path / "net.onnx"), tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("shape", "layout", "want"),
    [
        ([0, 3, 0, 0], None, False), ([1, 48, 64, 3], None, True), ([0, 0, 0, 3], None, True), ([0, 0, 0, 0], "nhwc", True),
        ([1, 3, 7, 3], None, "name the layout"), ([0, 0, 0, 0], None, "name the layout"), ([1, 1, 48, 64], None, "3 channels"),
        ([1, 3, 7, 3], "nhwc", True), ([1, 3, 48, 64], "nhwc", "3 channels"),
    ],
)  # fmt: skip
def test_axes_of_colours(shape: list[int], layout: str | None, want: Any) -> None:
    """The shape of an input tells, or an error asks."""
    if isinstance(want, bool):
        assert features._channels_last(shape, layout, "it") is want
    else:
        with pytest.raises(ValueError, match=want):
            features._channels_last(shape, layout, "it")


@pytest.mark.parametrize(
    ("photo", "inner", "mapped"),
    [((240, 320), (168, 224), (21, 28)), ((320, 240), (224, 168), (28, 21)), ((213, 320), (152, 224), (19, 28)),
     ((100, 100), (224, 224), (28, 28)), ((10, 5000), (8, 224), (1, 28))],
)  # fmt: skip
def test_places(photo: tuple[int, int], inner: tuple[int, int], mapped: tuple[int, int]) -> None:
    """A photograph keeps its shape but for less than half a cell, fills one axis, and whole cells of the map."""
    net = object.__new__(features._Network)
    net.size, net.cells = (224, 224), (28, 28)
    assert net.place(photo) == ((224, 224), inner, mapped)


def test_command(tmp_path: Path, photos: Path) -> None:
    """The command makes the same maps, and ends with a code that scripts can read."""

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "blockbp.features", str(photos), "--network", str(net), "-o", str(tmp_path / "out")]
        return subprocess.run([*command, *more], capture_output=True, text=True)

    net = network(tmp_path / "net.onnx")
    assert run("--size", "640").returncode == 2 and run("--layer", "no").returncode == 3
    done = run("--layer", "mixed", "--size", "8x8")
    assert done.returncode == 0 and "3 feature maps of layer mixed" in done.stdout, done.stderr
    assert run("--layer", "mixed").returncode == 1
    net = tmp_path / "none.onnx"
    assert "none.onnx" in run("--resume").stderr


def test_packages_that_lack_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, photos: Path) -> None:
    """Without ONNX Runtime an error says how to install it."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match="pip install onnxruntime onnx pillow"):
        features.make(photos, network(tmp_path / "net.onnx"), tmp_path / "out")
