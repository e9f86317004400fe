"""Two runs side by side: their texts, the first token that differs, and whether it may.

Knows: what to show of one or two runs. Does not know: which are chosen, or how the sentences are found.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from simulator.exactness.rules import CARDS
from simulator.grids.brief import Brief
from ui import theme
from ui.runs_values import shown
from ui.runs_words import Statement, compared, first_difference
from ui.widgets.run_text import RunText


class ComparePanel(QWidget):
    """Shows up to two runs."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._statement = Statement("", "", "muted")
        self._head = QLabel(wordWrap=True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE // 2)
        layout.addWidget(self._head)
        sides = QHBoxLayout()
        sides.setSpacing(2 * theme.SPACE)
        self._sides = [_Side(), _Side()]
        for side in self._sides:
            sides.addWidget(side, 1)
        layout.addLayout(sides, 1)
        self.set_runs(())

    def set_runs(self, runs: Sequence[Brief]) -> None:
        """Show these runs, at most two."""
        marked = None
        if len(runs) == 2:
            self._statement = compared(*runs)
            marked = first_difference(*(r.tokens for r in runs)) if runs[0].prompt == runs[1].prompt else None
        else:
            text = self.tr("Choose a second run with Ctrl + click to lay it beside this one.") if runs else self.tr(
                "Open a row and choose a run to read its text; choose two (Ctrl + click) to compare them."
            )  # fmt: skip
            self._statement = Statement("", text, "muted")
        for i, side in enumerate(self._sides):
            side.set_run(runs[i] if i < len(runs) else None, marked)
        self._head.setText(f"{self._statement.sign} {self._statement.text}".strip())
        self._dress()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme or of the text's size."""
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "_sides"):
            self._dress()
        super().changeEvent(event)

    def _dress(self) -> None:
        theme.set_face(self._head, bold=self._statement.colour != "muted", colour=self._statement.colour)


class _Side(QWidget):
    """One run: what it is, and its text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._about, self.text = QLabel(wordWrap=True), RunText()
        self._about.setProperty("muted", True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE // 2)
        layout.addWidget(self._about)
        layout.addWidget(self.text, 1)

    def set_run(self, run: Brief | None, marked: int | None) -> None:
        """Show a run with a token marked, or nothing."""
        self.setVisible(run is not None)
        if run is None:
            return
        s = run.setting
        rule = CARDS[s.rule].title if s.rule in CARDS else s.rule
        k = self.tr("plain") if s.k == 0 else self.tr("k = {k}, {source}, {rule}").format(
            k=s.k, source=shown("source", s.source), rule=rule
        )  # fmt: skip
        rate = len(run.tokens) / len(run.drafted) if run.drafted else None
        text = self.tr("{k} · T = {t} · seed {seed} · {r} rounds of {per} tokens")
        self._about.setText(
            text.format(
                k=k, t=f"{s.temperature:g}", seed=s.seed, r=len(run.drafted), per=shown("tokens_per_round", rate)
            )
        )  # fmt: skip
        self._about.setToolTip(self.tr("Behind the prompt:\n{p}").format(p=run.prompt.text))
        self.text.set_run(run.labels, run.origins, marked)
