"""An engine that does not answer: the network between us and it, in the ways in which networks fail."""

from collections.abc import Sequence
from datetime import datetime

from cluster.engines.contract import Engine, EngineUnreachable, LaunchSpec, NodeReport, Observation


class UnreachableEngine:
    """Wraps an engine. `down` refuses every call; `loses_answers` lets the call act and loses the answer.

    With `answers_left` so many calls are answered before it goes down. The clock is always to be had.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        down: bool = True,
        loses_answers: bool = False,
        answers_left: int | None = None,
    ) -> None:
        self.engine, self.name = engine, engine.name
        self.down, self.loses_answers, self.answers_left = down, loses_answers, answers_left

    def now(self) -> datetime:
        return self.engine.now()

    def speed(self) -> float:
        return self.engine.speed()

    def launch(self, spec: LaunchSpec) -> None:
        self._call(lambda: self.engine.launch(spec))

    def request_checkpoint(self, launch_key: str) -> None:
        self._call(lambda: self.engine.request_checkpoint(launch_key))

    def stop(self, launch_key: str, *, grace_s: float) -> None:
        self._call(lambda: self.engine.stop(launch_key, grace_s=grace_s))

    def observe(self, launch_keys: Sequence[str]) -> list[Observation]:
        return self._call(lambda: self.engine.observe(launch_keys))

    def observe_nodes(self, names: Sequence[str]) -> list[NodeReport]:
        return self._call(lambda: self.engine.observe_nodes(names))

    def _call(self, act):
        if self.answers_left is not None:
            self.down = self.answers_left <= 0
            self.answers_left -= 1
        if self.down and not self.loses_answers:
            raise EngineUnreachable("no answer")
        answer = act()
        if self.down:
            raise EngineUnreachable("the answer was lost")
        return answer
