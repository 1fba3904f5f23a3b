"""Kill a worker between any two statements of a tick.

What a dead worker leaves behind is decided by what it last did to the outside: a change sent to the database,
a commit, a call made to the engine. Two places in the code with none of these between them leave the same
behind. So a sweep over these, before each of them and after each engine call, is a sweep over all statements.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from cluster.engines.contract import Engine
from cluster.engines.registry import get_engine
from cluster.pipeline import lease
from cluster.pipeline.tick import run_tick
from tests.pipeline.audit import AuditedCluster

CHANGES = ("INSERT", "UPDATE", "DELETE", "RELEASE SAVEPOINT")
ENGINE_CALLS = ("launch", "request_checkpoint", "stop", "observe", "observe_nodes")


class Killed(BaseException):
    """The worker dies here: nothing catches it, nothing is tidied up."""


class Saboteur:
    """Counts the steps of a tick, and kills the worker right before the step with number `at` (from 0).

    Tests run inside a transaction, where a savepoint stands for a transaction of the tick: its release is the
    commit, and a worker killed before the commit leaves nothing of it.
    """

    def __init__(self, at: int | None = None) -> None:
        self.at, self.killed = at, False
        self.steps: list[str] = []
        self.in_engine = False

    def step(self, what: str) -> None:
        if self.at == len(self.steps):
            self.killed = True
            raise Killed(f"before step {self.at}: {what}")
        self.steps.append(what)

    def statement(self, execute: Callable, sql: str, params, many: bool, context) -> object:
        if self.in_engine or self.killed or not sql.startswith(CHANGES):
            return execute(sql, params, many, context)
        try:
            self.step(sql[:200])
        except Killed:
            if sql.startswith("RELEASE SAVEPOINT"):
                execute(sql.replace("RELEASE", "ROLLBACK TO", 1), params, many, context)
            raise
        return execute(sql, params, many, context)


class WatchedEngine:
    """An engine whose every call is a step, before and after; none may be made inside a transaction."""

    def __init__(self, engine: Engine, saboteur: Saboteur) -> None:
        self.engine, self.saboteur, self.name = engine, saboteur, engine.name
        self.now, self.speed = engine.now, engine.speed
        self.depth = len(connection.savepoint_ids)

    def __getattr__(self, name: str) -> Callable:
        if name not in ENGINE_CALLS:
            raise AttributeError(name)

        def call(*args, **kwargs):
            assert len(connection.savepoint_ids) == self.depth, f"{name} was called inside a transaction"
            self.saboteur.step(f"engine.{name}")
            self.saboteur.in_engine = True
            answer = getattr(self.engine, name)(*args, **kwargs)
            self.saboteur.in_engine = False
            self.saboteur.step(f"engine.{name} has returned")
            return answer

        return call


def tick_until_killed(saboteur: Saboteur, monkeypatch) -> None:
    """One tick of a worker that is killed at its step; a dead worker does not give its lease back."""
    release = lease.release
    with monkeypatch.context() as patch, connection.execute_wrapper(saboteur.statement):
        patch.setattr(lease, "release", lambda fence: None if saboteur.killed else release(fence))
        try:
            run_tick(WatchedEngine(get_engine(), saboteur), holder="killed")
        except Killed:
            connection.set_rollback(False)


@contextmanager
def undone(tiny: AuditedCluster) -> Iterator[None]:
    """Whatever happens inside leaves no trace, and it is as late afterwards as it was before."""
    now = tiny.now
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    tiny.now = now
