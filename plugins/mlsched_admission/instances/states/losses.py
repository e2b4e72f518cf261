"""Loss of an eviction: GPUs times the time since the work was last saved, which schedulers do not record."""

from __future__ import annotations

from collections.abc import Mapping

from mlsched.core.fields import EXACT
from mlsched_admission.instances.states import values
from mlsched_admission.instances.states.state import Options, State, Unit

#: Default loss of each eviction in seconds.
MINUTE = 60


class Losses:
    """GPU-seconds that evictions lose at a moment, and their resource.

    A state without running GPUs counts CPU-seconds instead (`counted` is then "CPU").
    """

    def __init__(self, state: State, options: Options, now: int | None, *, gpus: bool) -> None:
        self._state, self._options = state, options
        self.counted = "GPU" if gpus else "CPU"
        self._held: dict[str, int] = {}
        self.now = now if options.now is None else options.now
        state.now, state.counted = self.now, self.counted
        if self.now is None:
            state.assume("now: the state has no times, so every eviction loses no time; give --now")
        elif options.now is None:
            state.assume(f"now: {values.shown_moment(self.now)}, the latest time in the state (--now says otherwise)")
        if not gpus:
            state.assume("lost time: nothing that runs holds a GPU, so it is counted in CPU-seconds")
        if options.checkpoint_every is not None:
            state.assume(
                f"checkpoints: every {options.checkpoint_every} s, so an eviction loses no more than that per GPU"
            )
        elif options.checkpoint_annotation is None:
            state.assume(
                "checkpoints: no scheduler knows them, so an eviction loses all since the last start: at most what is "
                "shown (--checkpoint-every, --checkpoint-annotation)"
            )

    def loss_of(self, devices: int, start: int | None, save_time: int | None, who: str) -> int:
        """Return the loss of evicting `who`: `devices` GPUs (or CPUs) in thousandths since `start`, or since
        `save_time` if it is later.

        Rounded up to full GPU-seconds.
        """
        self._held[who] = devices
        if self.now is None or not devices:
            return 0
        if start is None:
            self._state.assume(f"start of {who}: not in the state, so its eviction loses nothing")
            return 0
        if self._options.checkpoint_annotation is not None and save_time is None:
            self._state.assume(
                f"checkpoint of {who}: it does not have {self._options.checkpoint_annotation}, so all since its start"
            )
        since = max(0, self.now - max(start, start if save_time is None else save_time))
        if self._options.checkpoint_every is not None:
            since = min(since, self._options.checkpoint_every)
        return min(-(-devices * since // 1000), EXACT)

    def settle_losses(self, units: Mapping[str, Unit]) -> None:
        """Count a minute each if all losses are 0: the state then lacks the data to compare evictions."""
        there = [(units[name], devices) for name, devices in self._held.items() if name in units and devices]
        has_checkpoints = self._options.checkpoint_annotation is not None or self._options.checkpoint_every is not None
        if has_checkpoints or not there or any(unit.lost for unit, _ in there):
            return
        for unit, devices in there:
            unit.lost = min(-(-devices * MINUTE // 1000), EXACT)
        self._state.assume(
            "lost work: start times are missing, or not before the moment of the state; each unit counts "
            f"{MINUTE} s per {self.counted}"
        )


def different_times(seconds: int) -> str:
    """Return the warning that the files of a state are of different times."""
    days, hours = divmod(seconds // 3600, 24)
    return f"files of different times: {days} d {hours} h apart, so the state may never have been one"


def save_time_of(annotations: dict[str, str], options: Options) -> int | None:
    """Return when the work was last saved, by the annotation that the user names: a time, or seconds since 1970."""
    text = annotations.get(options.checkpoint_annotation or "", "")
    if text.isascii() and text.isdecimal() and len(text) <= 12:
        return int(text)
    return values.parse_time(text) if text else None
