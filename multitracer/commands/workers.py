"""Tasks done in several processes, on this machine or on a Dask cluster."""

from __future__ import annotations

import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from multitracer.model.errors import MissingCapabilityError

Task = TypeVar("Task")
Result = TypeVar("Result")

PRELOADED = ("multitracer.analysis.pipeline", "multitracer.export.files", "multitracer.report.kept_experiments")
"""What analyses need: imported once, by the server that processes are forked from, as that takes a second or two."""
_PATIENCE_S = 1.0
"""How long a process that is told to end may take to clean up."""
_CONNECT_S = 10
"""How long a cluster may take to answer."""


def on_processors(
    work: Callable[[Task], Result], tasks: Sequence[Task], jobs: int, died: Callable[[Task, int | None], Result],
    preloaded: Sequence[str] = PRELOADED,
) -> Iterator[tuple[int, Result]]:  # fmt: skip
    """(Place, result) of every task as they end, done in `jobs` processes, which have `preloaded` modules.

    A process that dies takes only its task with it, whose result is then `died(task, exit code)`.
    """
    from multitracer.compute.threads import processors

    jobs = min(jobs, len(tasks))
    threads = max(1, processors() // max(1, jobs))
    get_context("forkserver").set_forkserver_preload(list(preloaded))
    following = deque(enumerate(tasks))
    busy: dict[Any, _Worker[Task, Result]] = {}
    try:
        for _ in range(jobs):
            _give_next(_Worker(work, threads), following, busy)
        while busy:
            for connection in wait(list(busy)):
                worker = busy.pop(connection)
                place, task = worker.at
                try:
                    result = worker.connection.recv()
                except (EOFError, ConnectionResetError):
                    result = died(task, worker.ended())
                    worker = _Worker(work, threads) if following else worker
                _give_next(worker, following, busy)
                yield place, result
    finally:
        for worker in busy.values():
            worker.tell()
        for worker in busy.values():
            worker.end()


def _give_next(worker: _Worker[Task, Result], following: deque[tuple[int, Task]], busy: dict[Any, Any]) -> None:
    """Give a worker the next task, or end it if there is none."""
    if following:
        worker.begin(*following.popleft())
        busy[worker.connection] = worker
    else:
        worker.end()


class _Worker(Generic[Task, Result]):
    """A process that does one task after another; it ends with the process that gives them."""

    def __init__(self, work: Callable[[Task], Result], threads: int) -> None:
        # Not forked from this process: its lock of the result directory, and its threads, would go along.
        context = get_context("forkserver")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, work, threads), daemon=True)
        self._process.start()
        theirs.close()

    def begin(self, place: int, task: Task) -> None:
        """Let it do a task."""
        self.at = place, task
        self.connection.send(task)

    def ended(self) -> int | None:
        """The exit code of a process that ended by itself."""
        self._process.join(_PATIENCE_S)
        self.end()
        return self._process.exitcode

    def tell(self) -> None:
        """Let it clean up and end, whatever it does."""
        self._process.terminate()

    def end(self) -> None:
        """End it, and wait for that."""
        self.tell()
        self._process.join(_PATIENCE_S)
        self._process.kill()
        self._process.join()
        self.connection.close()


def _serve(connection: Connection, work: Callable[[Any], Any], threads: int) -> None:
    """Do tasks, each with so many threads, until there are no more, or nobody wants their results."""
    from multitracer.compute.threads import allow

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes; the first one ends the others
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    allow(threads)
    try:
        while True:
            connection.send(work(connection.recv()))
    except (EOFError, OSError):
        return


def on_cluster(
    work: Callable[[Task], Result], tasks: Sequence[Task], address: str, died: Callable[[Task, int | None], Result]
) -> Iterator[tuple[int, Result]]:
    """(Place, result) of every task as they end, done by the workers of a Dask cluster.

    Its workers must see the same files under the same names. What a worker that dies was at is done by another.
    Raises MissingCapabilityError without dask.distributed, or if no scheduler answers.
    """
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise MissingCapabilityError(
            "--cluster needs dask.distributed\nInstall it: pip install 'multitracer[cluster]'"
        ) from error
    try:
        client = Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError) as error:
        raise MissingCapabilityError(
            f"--cluster {address}: no Dask scheduler answers there\nStart one: dask scheduler, dask worker {address}"
        ) from error
    with client:
        places = {client.submit(work, task, pure=False): place for place, task in enumerate(tasks)}
        for future in as_completed(list(places)):
            place = places[future]
            yield place, died(tasks[place], None) if future.exception() else future.result()
