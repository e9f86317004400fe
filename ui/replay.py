"""The moment that a replay has reached, by the clock and not by counting ticks.

Knows: playing, pausing, speed, going to a moment. Does not know Qt, or what is replayed.
"""

from __future__ import annotations

SPEEDS = (2.0, 1.0, 0.5, 0.25, 0.1)  # times true speed


class Replay:
    """A moment in ms between 0 and `end`; `now` is a monotone clock in seconds wherever it is asked for."""

    def __init__(self) -> None:
        self.at = 0.0
        self.end = 0.0
        self.speed = 1.0
        self.playing = False
        self._since: tuple[float, float] = 0.0, 0.0  # a time of the clock, and the moment it stood for

    def load(self, end: float) -> None:
        """Take another replay of so many ms, paused at its start."""
        self.at, self.end, self.playing = 0.0, end, False

    def play(self, now: float) -> None:
        """Go on, from the start where the end was reached."""
        self.at = 0.0 if self.at >= self.end else self.at
        self.playing, self._since = self.end > 0, (now, self.at)

    def pause(self) -> None:
        """Hold at the moment of the last tick."""
        self.playing = False

    def seek(self, at: float, now: float) -> None:
        """Go to a moment, and on from there if playing."""
        self.at = min(max(0.0, at), self.end)
        self._since = now, self.at

    def set_speed(self, speed: float, now: float) -> None:
        """Go on at another speed; nothing jumps."""
        self.tick(now)
        self.speed, self._since = speed, (now, self.at)

    def tick(self, now: float) -> None:
        """Move to where the clock says; at the end it pauses."""
        if self.playing:
            then, at = self._since
            self.at = min(at + 1000 * self.speed * (now - then), self.end)
            self.playing = self.at < self.end
