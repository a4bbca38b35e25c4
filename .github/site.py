"""What MkDocs does to pages that are written to be read in the repository.

The README becomes the first page, pages that stand outside docs/ join the others, links to what is
not a page lead into the repository, a page of the Python API is made from the docstrings, and notebooks
are run, so that their pages show what they print and draw.
"""

import posixpath
import re
from pathlib import Path

import griffe
from blockbp._base import _SHARED
from mkdocs.structure.files import File
from nbconvert import MarkdownExporter
from nbconvert.preprocessors import ExecutePreprocessor

ROOT = Path(__file__).parent.parent
OUTSIDE = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "results/README.md",
           "python/README.md", *(f"python/docs/{page}.md" for page in ("pictures", "graphs", "sequences", "spins", "networks", "torch"))]
CLASSES = ["GridCRF", "GraphCRF", "NodeCRF", "Graph", "ChainCRF", "IsingModel", "PottsModel", "infer", "sample", "scorer",
           "Network", "Inference", "Samples", "torch.PairwiseCRF", "torch.Graph", "BlockbpError", "BlockbpWarning", "ConvergenceWarning"]
NOTEBOOKS = [f"python/examples/{name}.ipynb" for name in ("segmentation", "citations", "tagging", "spin_glass", "species")]
REPOSITORY = "https://github.com/blockbp/blockbp/blob/main/"
LINK = re.compile(r"\]\(([^)\s]+)\)")


class Shared(griffe.Extension):
    """Docstrings with the parameters that classes share, as blockbp._base.documented makes them: griffe reads sources."""

    def on_class_instance(self, *, cls, **_):
        for name, text in _SHARED.items() if cls.docstring else ():
            text = re.sub("(?m)^    ", "", text)  # sources are indented, and what griffe has of them is not
            cls.docstring.value = cls.docstring.value.replace("{" + name + "}", text)


def name_of(path):
    """The page of the site that a path of the repository becomes."""
    return "index.md" if path == "README.md" else path.removeprefix("docs/").replace(".ipynb", ".md")


def path_of(name):
    """The path in the repository of a page of the site."""
    outside = {name_of(path): path for path in OUTSIDE + NOTEBOOKS}
    return outside.get(name, "docs/" + name)


def on_files(files, config):
    for path in OUTSIDE:
        files.append(File.generated(config, name_of(path), content=(ROOT / path).read_text("utf-8")))
    for path in NOTEBOOKS:
        exporter = MarkdownExporter(preprocessors=[ExecutePreprocessor(timeout=300)])
        files.append(File.generated(config, name_of(path), content=exporter.from_filename(str(ROOT / path))[0]))
    api = "# Python API\n\n" + "".join(f"::: blockbp.{name}\n\n" for name in CLASSES)
    files.append(File.generated(config, "python/api.md", content=api))
    return files


def on_page_markdown(markdown, page, config, files):
    here = path_of(page.file.src_uri)

    def link(match):
        target, hash_, anchor = match[1].partition("#")
        target = target.replace(REPOSITORY, "/")  # the Python README is read on PyPI, too
        if not target or "://" in target or target.startswith("data:"):
            return match[0]
        path = target[1:] if target[0] == "/" else posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
        if not (ROOT / path).exists():
            raise ValueError(f"{here}: link to {match[1]}: no such file")
        if files.get_file_from_path(name_of(path)):
            path = posixpath.relpath(name_of(path), posixpath.dirname(page.file.src_uri) or ".")
        else:
            path = REPOSITORY + path
        return f"]({path}{hash_}{anchor})"

    # A block that becomes a file has the name of the file behind the language.
    markdown = re.sub(r"(?m)^```(\w+) ([\w.]+)$", r'```\1 title="\2"', markdown)
    return LINK.sub(link, markdown)
