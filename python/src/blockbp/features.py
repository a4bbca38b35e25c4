"""Feature maps of photographs, by a layer of a neural network in ONNX format.

``python -m blockbp.features PHOTOS --network NET.onnx -o DIR`` writes ``ID.npy``, [rows, columns, features], for each
photograph, which ``blockbp train --features DIR`` reads. ONNX Runtime runs the network, Pillow reads photographs, and
onnx makes an inner layer an output: ``pip install onnxruntime onnx pillow``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ._run import Progress

__all__ = ["make"]

_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of red, green and blue in ImageNet
_SUFFIXES = (".jpg", ".jpeg", ".png", ".tif", ".tiff")
_LAYOUTS = ("nchw", "nhwc")
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}
_AnyPath = str | os.PathLike[str]


# fmt: off
def make(photos: _AnyPath, network: _AnyPath, out: _AnyPath, *, layer: str | None = None, ids: _AnyPath | None = None,
         size: tuple[int, int] | None = None, mean: Sequence[float] | None = None, std: Sequence[float] | None = None,
         bgr: bool = False, layout: str | None = None, layer_layout: str | None = None, dtype: str = "float16",
         threads: int = 0, resume: bool = False, verbose: int = 0) -> dict[str, Any]:
    """Write a layer of a network for every photograph of a folder, or of its folder ``images``.

    Photographs keep their size where the network takes any. Otherwise they are scaled to fit, and their part of the
    map is kept. ``python -m blockbp.features --help`` explains the parameters; ``ids`` is ``--list``, ``size`` is
    (width, height).

    Returns
    -------
    dict
        How many maps were ``made`` and ``kept``, the number of ``features``, and the ``layer``.
    """
    if dtype not in ("float16", "float32") or not {layout, layer_layout} <= {None, *_LAYOUTS}:
        raise ValueError(f"dtype {dtype!r}, layout {layout!r} and layer_layout {layer_layout!r}: want float16 or "
                         f"float32, and {' or '.join(_LAYOUTS)}")
    out = Path(out)
    begun = out.exists() and (not out.is_dir() or any(out.iterdir()))
    if begun and not resume:
        raise FileExistsError(f"{out} is not empty: choose another folder, or resume what was begun there")
    paths = _photographs(Path(photos), ids)
    net = _Network(network, layer, threads)
    net.prepare(size, layout, layer_layout, mean, std, bgr)
    settings, said = {**net.settings, "dtype": dtype}, out / "features.json"
    before = json.loads(said.read_text(encoding="utf-8")) if begun else settings
    for name in {**settings, **before}:
        if before.get(name) != settings.get(name):
            raise ValueError(f"{said}: maps there were made with {name} {before.get(name)}, not {settings.get(name)}: "
                             "choose another folder, or the same options")
    left = {id: path for id, path in paths.items() if not (out / f"{id}.npy").exists()}
    show = Progress() if verbose else None
    try:
        for done, (id, path) in enumerate(left.items()):
            values = _as_type(net.map(path), dtype, path)
            if not begun and not done:
                out.mkdir(parents=True, exist_ok=True)
                _write(said, lambda file: file.write(json.dumps(settings, indent=2).encode()))
            _write(out / f"{id}.npy", lambda file, values=values: np.save(file, values))  # type: ignore[misc]
            if show is not None:
                show({"progress": "computing features", "done": done + 1, "total": len(left)})
    finally:
        if show is not None:
            show.close()
    return {"made": len(left), "kept": len(paths) - len(left), "features": net.features, "layer": net.layer}


def _imported(name: str) -> Any:
    """Import what only this module needs."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as err:
        raise ImportError(f"feature maps need more packages: pip install onnxruntime onnx pillow ({err})") from err


def _photographs(folder: Path, ids: _AnyPath | None) -> dict[str, Path]:
    """Return the photographs of a folder, or of its folder images, by id: those of a list, or all."""
    images = folder / "images" if (folder / "images").is_dir() else folder
    found: dict[str, list[Path]] = {}
    for path in sorted(images.iterdir()):
        if path.suffix.lower() in _SUFFIXES and not path.name.startswith("."):
            found.setdefault(path.stem, []).append(path)
    if not found:
        raise ValueError(f"{images}: there are no pictures ({', '.join(_SUFFIXES)})")
    places = dict.fromkeys(found, str(images))
    if ids is not None:
        ids, places = Path(ids) if os.path.exists(ids) else folder / ids, {}
        for number, line in enumerate(ids.read_text(encoding="utf-8-sig").splitlines(), 1):
            id = line.strip()
            if images / id in found.get(Path(id).stem, []):
                id = Path(id).stem  # a file name stands for its id
            if id and not id.startswith("#"):
                places[id] = f"{ids}:{number}"
    chosen: dict[str, Path] = {}
    for id, place in places.items():
        # A tif beside another counts as what that was made of.
        several = [p for p in found.get(id, []) if not p.suffix.lower().startswith(".tif")] or found.get(id, [])
        if len(several) != 1:
            raise ValueError(f"{place}: {len(several)} pictures are named {id!r} in {images}, want 1; an id is a file "
                             "name without .jpg or .png")
        chosen[id] = several[0]
    return chosen


def _write(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file that is whole, or not there."""
    part = Path(f"{path}.part")
    with open(part, "wb") as file:
        write(file)
    os.replace(part, path)


def _as_type(values: NDArray[Any], dtype: str, photo: Path) -> NDArray[Any]:
    """Return features, [rows, columns, features], as they are written."""
    with np.errstate(over="ignore"):
        stored = np.ascontiguousarray(values, dtype)
    for row, column, feature in np.argwhere(~np.isfinite(stored)):
        raise ValueError(f"{photo}: feature {feature} of row {row}, column {column} is {values[row, column, feature]}, "
                         "want a finite number; float16 has those of at most 65504")
    return stored


class _Network:
    """A network, and one layer of it. Shapes are [rows, columns]."""

    def __init__(self, path: _AnyPath, layer: str | None, threads: int) -> None:
        runtime = _imported("onnxruntime")
        options, self.run_options = runtime.SessionOptions(), runtime.RunOptions()
        options.log_severity_level = self.run_options.log_severity_level = 4
        options.intra_op_num_threads = threads
        self.run_options.only_execute_path_to_fetches = True  # what stands behind the layer is not computed
        folder = os.path.dirname(os.path.abspath(path))  # weights may lie in files beside the network
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
        self.file, self.path = Path(path).read_bytes(), path

        def load(network: bytes) -> tuple[list[str], Any]:
            try:
                session = runtime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
            except Exception as err:  # of many classes
                raise ValueError(f"{path}: the network cannot be loaded: {err}") from err
            return [output.name for output in session.get_outputs()], session

        outputs, self.session = load(self.file)
        if layer is not None and layer not in outputs:
            outputs, self.session = load(_with_output(path, self.file, layer))
            layer = outputs[0]
        elif layer is None and len(outputs) != 1:
            raise ValueError(f"{path}: the network has {len(outputs)} outputs: choose a layer: {', '.join(outputs)}")
        self.layer = layer or outputs[0]
        self.input, *others = self.session.get_inputs()
        if others:
            raise ValueError(f"{path}: it has {len(others) + 1} inputs, want 1, the photograph")
        self.features = 0

    def prepare(self, size: tuple[int, int] | None, layout: str | None, layer_layout: str | None,
                mean: Sequence[float] | None, std: Sequence[float] | None, bgr: bool) -> None:
        """Take the shape of the input, and what pixels become."""
        said = f"{self.path}: its input {self.input.name} is a {self.input.type} of shape {self.input.shape}"
        # 0 is an axis of any size.
        shape = [n if isinstance(n, int) and n > 0 else 0 for n in self.input.shape] or [0] * 4 * bool(layout)
        if len(shape) != 4 or self.input.type not in _TYPES:
            raise ValueError(f"{said}, want photographs: [batch, 3, rows, columns] or [batch, rows, columns, 3] of "
                             "float32, float16 or uint8")
        self.last, self.layer_layout = _channels_last(shape, layout, said), layer_layout
        rows, columns = shape[1:3] if self.last else shape[2:]
        width, height = size or (columns, rows)
        if (width == 0) != (height == 0) or rows not in (0, height) or columns not in (0, width):
            raise ValueError(f"{said}, of {columns} columns and {rows} rows, 0 for any: name a size that suits")
        self.batch, self.size, self.bgr = shape[0] or 1, (height, width) if height else None, bgr
        self.dtype = _TYPES[self.input.type]
        if self.dtype == np.uint8 and (mean is not None or std is not None):
            raise ValueError("the network is given bytes: leave mean and std out")
        order = -1 if bgr else 1
        self.mean, self.std = ([float(x) for x in (usual[::order] if given is None else given)]
                               for given, usual in ((mean, _MEAN), (std, _DEVIATION)))
        three = len(self.mean) == len(self.std) == 3
        if not three or max(map(abs, self.mean + self.std)) > 255 or min(self.std) < 1e-3:
            raise ValueError(f"mean {self.mean} and std {self.std}: want three numbers each, for colours from 0 to 1")
        colours = {} if self.dtype == np.uint8 else {"mean": self.mean, "std": self.std}
        chosen = {"bgr": bgr, "width": width, "height": height, "layer_layout": layer_layout}
        self.settings = {"network": hashlib.sha256(self.file).hexdigest(), "layer": self.layer, **colours,
                         "layout": _LAYOUTS[self.last], **{name: value for name, value in chosen.items() if value}}
        self.cells = self.run(self.empty(self.size)).shape[:2] if self.size else None

    def empty(self, outer: tuple[int, int]) -> NDArray[Any]:
        """Return a picture of nothing, [rows, columns, 3]: of the mean, or grey."""
        return np.full((*outer, 3), 128 if self.dtype == np.uint8 else 0, self.dtype)

    def map(self, photo: Path) -> NDArray[Any]:
        """Return the features, [rows, columns, features], of a photograph."""
        try:
            with _imported("PIL.Image").open(photo) as picture:
                outer, inner, mapped = self.place(picture.size[::-1])
                pixels = self.pixels(picture, inner)
        except (OSError, ValueError) as err:
            raise ValueError(f"{photo}: the picture cannot be read: {err}") from err
        given = self.empty(outer)
        given[: inner[0], : inner[1]] = pixels
        try:
            values = self.run(given)
        except ValueError as err:
            raise ValueError(f"{photo}: {err}") from err
        return values[: mapped[0], : mapped[1]] if mapped else values

    def place(self, photo: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int] | None]:
        """Return the shapes of what the network is given, the photograph in its corner, and its part of the map.

        Where all are of one size in the network, the photograph keeps its shape, and fills whole
        cells of the map: then the map's part is the photograph, to the edge.
        """
        if self.size is None or self.cells is None:
            return photo, photo, None
        scale = min(outer / side for outer, side in zip(self.size, photo))
        cells: list[int] = []
        inner: list[int] = []
        for outer, all_cells, side in zip(self.size, self.cells, photo):
            cell = outer / all_cells
            cells.append(max(1, min(all_cells, int(side * scale / cell + 0.5))))
            inner.append(max(1, min(outer, int(cells[-1] * cell + 0.5))))
        return self.size, (inner[0], inner[1]), (cells[0], cells[1])

    def pixels(self, picture: Any, inner: tuple[int, int]) -> NDArray[Any]:
        """Return a photograph in the size that it has in the network, as numbers that this takes."""
        images = _imported("PIL.Image")
        if picture.mode.startswith("I"):  # 16 bits
            picture = images.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
        if "A" in picture.getbands() or "transparency" in picture.info:
            picture = images.alpha_composite(images.new("RGBA", picture.size, "black"), picture.convert("RGBA"))
        picture = picture.convert("RGB")
        if picture.size != inner[::-1]:
            picture = picture.resize(inner[::-1], images.Resampling.BILINEAR)
        values = np.asarray(picture)[..., :: -1 if self.bgr else 1]
        return values if self.dtype == np.uint8 else ((values / 255 - self.mean) / self.std).astype(self.dtype)

    def run(self, picture: NDArray[Any]) -> NDArray[Any]:
        """Compute the layer, [rows, columns, features], of a picture, [rows, columns, 3]."""
        outer = picture.shape[:2]
        given = np.stack([picture if self.last else picture.transpose(2, 0, 1)] * self.batch)
        try:
            values = self.session.run([self.layer], {self.input.name: given}, self.run_options)[0]
        except Exception as err:  # of many classes
            size = "x".join(str(-(-side // 32) * 32) for side in outer[::-1])
            remedy = f"; some networks want multiples of a power of two: name one, such as {size}" * (not self.size)
            raise ValueError(f"layer {self.layer}: {err}{remedy}") from err
        said = f"layer {self.layer}: of {list(given.shape)} it makes a {values.dtype} of shape {list(values.shape)}"
        if values.dtype.kind != "f" or values.ndim != 4 or len(values) != self.batch or 0 in values.shape:
            raise ValueError(f"{said}, want a map of features, [{self.batch}, features, rows, columns] or "
                             f"[{self.batch}, rows, columns, features]: choose another layer")
        first = _fits(values.shape[2:], outer) and self.layer_layout != "nhwc"
        last = _fits(values.shape[1:3], outer) and self.layer_layout != "nchw"
        if not first and not last:
            raise ValueError(f"{said}, in which no two axes have the shape of a photograph: choose another layer")
        # Steps of ONNX have channels first, unless the network was made with channels last.
        features = values.shape[1 if first else 3]
        if first and last and self.last or self.features not in (0, features):
            raise ValueError(f"{said}, which does not tell the axis of features: name the layer's layout, nchw or nhwc")
        self.features = features
        return np.asarray(values[0].transpose(1, 2, 0) if first else values[0], np.float32)


def _fits(cells: tuple[int, ...], of: tuple[int, ...]) -> bool:
    """Tell whether a map can be of a picture: some scale makes both sizes right but for one cell."""
    return max((n - 1) / side for n, side in zip(cells, of)) <= min((n + 1) / side for n, side in zip(cells, of))


def _channels_last(shape: list[int], layout: str | None, said: str) -> bool:
    """Tell whether colours are the last axis of an input; 0 is an axis of any size."""
    first, last = (shape[axis] in (0, 3) and layout in (None, name) for axis, name in ((1, "nchw"), (3, "nhwc")))
    if not first and not last:
        raise ValueError(f"{said}, want 3 channels, for photographs in colour")
    if first and last and shape[1] == shape[3]:
        raise ValueError(f"{said}, which does not tell the axis of the 3 channels: name the layout, nchw or nhwc")
    return not first or last and shape[3] == 3


def _with_output(path: _AnyPath, file: bytes, layer: str) -> bytes:
    """Return a network whose only output is one of its inner layers, or what the step of that name computes."""
    from difflib import get_close_matches

    onnx = _imported("onnx")
    model = onnx.ModelProto.FromString(file)
    layers = [name for node in model.graph.node if node.op_type != "Constant" for name in node.output if name]
    steps = {node.name: node.output[0] for node in reversed(model.graph.node) if node.output}
    if layer not in layers and layer not in steps:
        close = "".join(f"; did you mean {near}?" for near in get_close_matches(layer, layers, 1))
        raise ValueError(f"{path}: it has no layer {layer!r}; its last layers are {', '.join(layers[-40:])}{close}")
    del model.graph.output[:]
    model.graph.output.append(onnx.ValueInfoProto(name=layer if layer in layers else steps[layer]))
    return bytes(model.SerializeToString())


def _main() -> int:
    """Run the command."""
    import argparse
    import sys

    def numbers(text: str) -> list[float]:
        return [float(number) for number in text.split(",")]

    def size(text: str) -> tuple[int, int]:
        width, height = (int(side) for side in text.split("x"))
        return width, height

    parser = argparse.ArgumentParser(
        prog="python -m blockbp.features", allow_abbrev=False, description="Write a layer of a neural network for each "
        "photograph, as ID.npy, [rows, columns, features]: blockbp train --features DIR reads them.")
    add = parser.add_argument
    add("photos", help="a folder of photographs, or one with a folder images")
    add("--network", required=True, help="the network, an ONNX file")
    add("--layer", help="the layer to write (default: the network's output)")
    add("-o", "--out", required=True, help="folder to make")
    add("--resume", action="store_true", help="make the maps that are not there yet")
    add("--list", dest="ids", help="file with one image id per line (default: all photographs)")
    add("--mean", type=numbers, help="mean of red, green and blue, of 0 to 1 (default: 0.485,0.456,0.406)")
    add("--std", type=numbers, help="their deviations (default: 0.229,0.224,0.225)")
    add("--bgr", action="store_true", help="network, --mean and --std have blue first")
    add("--size", type=size, help="WIDTHxHEIGHT that photographs get (default: the network's, or their own)")
    add("--layout", choices=_LAYOUTS, help="axes of the input (default: by its shape)")
    add("--layer-layout", choices=_LAYOUTS, help="axes of the layer (default: by its shape)")
    add("--dtype", default="float16", choices=("float16", "float32"), help="type of the features (default: float16)")
    add("--threads", type=int, default=0, help="number of threads (default: ONNX Runtime's choice)")
    add("-q", "--quiet", action="store_true", help="show no progress")
    options = vars(parser.parse_args())
    try:
        made = make(verbose=not options.pop("quiet"), **options)
    except KeyboardInterrupt:
        print("interrupted; --resume goes on", file=sys.stderr)
        return 130
    except (ImportError, OSError, ValueError) as err:
        print(f"blockbp.features: {err}", file=sys.stderr)
        return 3 if isinstance(err, ValueError) else 1
    print(f"{options['out']}: {made['made']} feature maps of layer {made['layer']}; {made['kept']} were there already")
    return 0


if __name__ == "__main__":
    raise SystemExit(_main())
