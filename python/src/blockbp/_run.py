"""Runs the blockbp binary: files in, files out, events on standard error."""

from __future__ import annotations

import atexit
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

# Seconds after which an interrupted binary that has nothing to save is killed, and one that has is said to be saving.
SAVING = 0.9


class BlockbpError(RuntimeError):
    """The binary failed, and not because of the data, or a model file cannot be used: the text says why."""


class ModelError(BlockbpError, ValueError):
    """A model file is damaged, is none, or is of another class."""


class BlockbpWarning(UserWarning):
    """A note of the binary: what a user would not expect."""


class Note(str):
    """A note of the binary, and the word by which it is known, "" of most."""

    word = ""


class ConvergenceWarning(BlockbpWarning):
    """A training ended before it converged."""


def binary() -> str:
    """Return the path of the binary.

    That is ``BLOCKBP_BINARY``, or the one of the installed wheel, or that on the ``PATH``.
    """
    import shutil
    import sysconfig

    if asked := os.environ.get("BLOCKBP_BINARY"):
        return asked
    name = "blockbp.exe" if os.name == "nt" else "blockbp"
    user = sysconfig.get_preferred_scheme("user")
    for folder in (
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", scheme=user),
        os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin"),  # of pip install --target
    ):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    if found := shutil.which(name):
        return found
    raise BlockbpError("the blockbp binary is not there: install the wheel again, or name the binary in BLOCKBP_BINARY")


def version() -> str:
    """Return the version of the package, which that of the binary has to equal."""
    here = Path(__file__).resolve().parent
    if (stamp := here / "VERSION").exists():
        return stamp.read_text(encoding="utf-8").strip()
    source = (here.parents[2] / "internal" / "cli" / "version.go").read_text(encoding="utf-8")  # this is a clone
    return str(re.findall(r'release = "v([^"]+)"', source)[0])


class Folder:
    """A temporary folder, in memory where that has room, which is removed at the end.

    Parameters
    ----------
    need : int
        Bytes that it is going to hold.

    Attributes
    ----------
    shapes : list
        The shapes of the grids in it.
    """

    shapes: Sequence[tuple[int, ...] | None] = ()

    def __init__(self, need: int = 0) -> None:
        import tempfile

        spare = 64 << 20  # for results, and for others
        parent = tempfile.gettempdir()
        if "TMPDIR" not in os.environ and sys.platform == "linux" and os.access("/dev/shm", os.W_OK | os.X_OK):
            free = os.statvfs("/dev/shm")
            if free.f_bavail * free.f_frsize > need + spare:
                parent = "/dev/shm"
        _sweep(parent)
        self.path = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
        self._owner = os.getpid()
        self._lock = _locked(os.path.join(self.path, _LOCK + "~"))
        if self._lock is not None:  # only what is locked may be seen by _sweep
            os.rename(self._lock.name, os.path.join(self.path, _LOCK))

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        import shutil

        if os.getpid() != self._owner:
            return  # a fork's copy
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()

    def __truediv__(self, name: str) -> str:
        return os.path.join(self.path, name)

    def printed(self) -> Any:
        """Return the JSON that the binary has printed."""
        return json.loads(Path(self / "stdout").read_text(encoding="utf-8"))


_PREFIX, _LOCK = "blockbp-", ".owner"


def _locked(path: str) -> IO[bytes] | None:
    """Lock a file for as long as it is open; None: it is locked already, or nobody locks here."""
    try:
        import fcntl
    except ImportError:
        return None
    file = open(path, "ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


def _sweep(parent: str) -> None:
    """Remove folders whose owners were killed: the system gave their locks back."""
    import shutil

    for entry in os.scandir(parent):
        if not entry.name.startswith(_PREFIX) or not os.path.isfile(lock := os.path.join(entry.path, _LOCK)):
            continue
        try:
            free = _locked(lock)
        except OSError:
            continue  # of another user, or just gone
        if free is not None:
            shutil.rmtree(entry.path, ignore_errors=True)
            free.close()


class Interrupted(KeyboardInterrupt):
    """Ctrl-C came, and the binary has ended; what it saved is in its folder."""


def run(
    arguments: Sequence[str],
    folder: Folder,
    verbose: int = 0,
    says: Callable[[dict[str, Any]], str] = lambda part: str(part["text"]),
    saves: Callable[[], bool] = lambda: False,
) -> list[Note]:
    """Run the binary in a folder and return its notes.

    Parameters
    ----------
    arguments : sequence of str
        The verb, and what belongs to it. Standard output goes to ``stdout`` in the folder.
    folder : Folder
        The working folder.
    verbose : int
        Whether progress is shown.
    says : callable
        Writes a part of a message, as the command sends it, in the words of the caller.
    saves : callable
        Whether the binary has something to save if it is interrupted now. It is given the
        time that this takes, or until Ctrl-C comes again.

    Raises
    ------
    ValueError
        The data, or the options, cannot be used.
    BlockbpError
        Anything else went wrong.
    Interrupted
        Ctrl-C came. The binary had the time to save what it had, if it had something.
    """
    notes: list[Note] = []
    other: list[str] = []
    failure: dict[str, Any] = {}
    show = Progress() if verbose else None
    command = [*arguments] + ([] if verbose or arguments[0] in ("check", "infer") else ["-q"])
    ended: int | None = None

    def told(event: dict[str, Any]) -> str:
        return "".join(map(says, event["parts"]))

    def listen() -> int:
        for raw in process.stderr:
            line = raw.decode(errors="replace")
            try:
                event = json.loads(line)
            except ValueError:
                other.append(line)
                if show is not None:
                    show.line(line)
                continue
            if "progress" in event and show is not None:
                show(event)
            elif "note" in event:
                notes.append(Note(told(event)))
                notes[-1].word = "".join(p.get("note", "") for p in event["parts"])
            elif "error" in event:
                failure.update(event)
            elif "ended" in event:
                return int(event["ended"])
            elif "version" in event and event["version"] != "v" + version():
                raise BlockbpError(
                    f"the package is version {version()} and the binary {process.args[0]} is {event['version']}: "
                    "install both anew, or unset BLOCKBP_BINARY"
                )
        return int(process.wait())

    # Names of files may be no Unicode, which JSON cannot send.
    served = arguments[0] in _SERVED and "".join([folder.path, *arguments]).isprintable()
    engine = _engine if served and _engine.lock.acquire(blocking=False) else None
    process: Any = None
    try:
        process = _start(command, folder) if engine is None else engine.ask(command, folder)
        try:
            ended = listen()
        except KeyboardInterrupt:
            if engine is None:
                _interrupt(process)
                _saved(process, listen, saves)
            raise Interrupted from None
    finally:
        if engine is None:
            _end(process)
        else:
            if ended is None or process.returncode is not None:
                engine.end()  # what comes next would be of this run
            engine.lock.release()
        if show is not None:
            show.close()
    if ended == 0:
        return notes
    text = failure and told(failure) or "".join(other).strip() or f"{binary()} ended with code {ended}"
    if failure and ended in (2, 3):
        raise ValueError(text)
    if ended is not None and ended < 0:
        import signal

        text = f"the binary was ended by {signal.Signals(-ended).name}; if memory was short, options={{'memory': '4GiB'}} bounds it"
    raise BlockbpError(text)


def _start(arguments: Sequence[str], folder: Folder | None) -> Any:
    """Start the binary in a folder; without one, to wait for requests."""
    import subprocess

    # Ctrl-C is for this process, which passes it on once: a second one would kill.
    apart: dict[str, Any] = {"creationflags": 0x200} if os.name == "nt" else {"start_new_session": True}
    command = [binary(), *arguments]
    try:
        with open(os.devnull if folder is None else folder / "stdout", "wb") as stdout:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL if folder else subprocess.PIPE,
                stdout=stdout,
                stderr=subprocess.PIPE,
                cwd=folder.path if folder else os.path.abspath(os.sep),
                env={**os.environ, "BLOCKBP_PROGRESS": "json"},
                **apart,
            )
    except OSError as err:
        raise BlockbpError(f"the binary {command[0]} does not start: {err}") from err


def _end(process: Any) -> None:
    """End a process, if it has not ended."""
    if process is None:
        return
    if process.poll() is None:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stderr):
        if pipe is not None:
            pipe.close()


# What a process that stays runs: short work, of which an interruption saves nothing.
_SERVED = ("check", "eval", "infer", "predict", "sample")


class _Engine:
    """A binary that stays, and runs one request after the other: its start would take longer than most of them.

    Whoever holds ``lock`` may use it, and others start a binary of their own. It is started anew
    where it has died, or where the environment has changed since. A fork has one of its own.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._process: Any = None
        self._environment: dict[str, str] = {}

    def ask(self, arguments: Sequence[str], folder: Folder) -> Any:
        """Send a request, and return the process, which tells of it until it says that it has ended."""
        request = json.dumps({"arguments": arguments, "folder": folder.path}) + "\n"
        environment = dict(os.environ)
        if self._process is not None and (self._process.poll() is not None or environment != self._environment):
            self.end()
        if self._process is None:
            self._process, self._environment = _start(["serve"], None), environment
        try:
            self._process.stdin.write(request.encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it has died just now, and listening finds out
        return self._process

    def end(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        _end(process)

    def forget(self) -> None:
        """Leave the process to the one that this is a fork of."""
        process, self.lock, self._process = self._process, threading.Lock(), None
        if process is not None:
            process.returncode = 0  # it is not waited for here
            process.stdin.close()


_engine = _Engine()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_engine.forget)
atexit.register(_engine.end)


def _interrupt(process: Any) -> None:
    import signal

    try:
        process.send_signal(signal.CTRL_BREAK_EVENT if os.name == "nt" else signal.SIGINT)  # type: ignore[attr-defined]
    except OSError:
        pass  # it has just ended


def _saved(process: Any, listen: Callable[[], object], saves: Callable[[], bool]) -> None:
    """Listen until an interrupted process has ended, and kill one that has nothing to save."""
    def late() -> None:
        if saves():
            print("blockbp: weights so far are being saved; Ctrl-C again gives them up", file=sys.stderr, flush=True)
        else:
            process.kill()

    timer = threading.Timer(SAVING, late)
    timer.start()
    try:
        listen()
    finally:
        timer.cancel()


class Progress:
    """Shows progress on a line of standard error."""

    def __init__(self) -> None:
        self._wide = 0

    def __call__(self, event: dict[str, Any]) -> None:
        text = f"{100 * event['done'] // max(1, event['total']):3d} %  {event['progress']}"
        print("\r" + text.ljust(self._wide), end="", file=sys.stderr, flush=True)
        self._wide = len(text)

    def line(self, text: str) -> None:
        """Show a line of other words."""
        print(text, end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the line."""
        if self._wide:
            print(file=sys.stderr)
