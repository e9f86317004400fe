"""The Stage: one round with every reason on the left, theory beside measurement on the right.

Knows how its parts are laid out and which session signal concerns which part. Computes nothing.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QWidget

from simulator.metrics import DEFINITIONS
from simulator.records import StopReason
from ui import opened_words, theme
from ui.pages.theory_panel import TheoryPanel
from ui.plots.pq_plot import PQPlot
from ui.plots.residual_plot import ResidualPlot
from ui.session import Session
from ui.stage_model import Totals, stage_numbers
from ui.states import State
from ui.widgets.arranging import column, halves, panel
from ui.widgets.digits import prob
from ui.widgets.figures import Figure, Figures
from ui.widgets.fitting import FittingColumn
from ui.widgets.known import EVERYTHING, known
from ui.widgets.reveal import describe
from ui.widgets.round_cards import RoundCards

PQ_HEIGHT, RESIDUAL_HEIGHT, CURVE_HEIGHT = 230, 150, 210  # px, at least; in a lower window the page scrolls
TEXT_MS = 250  # big numbers change at most four times a second: faster ones cannot be read


class StagePage(QWidget):
    """Everything the tool is about on one screen."""

    title = "Stage"
    measure_requested = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self._totals = session, Totals()
        self._head = QLabel(wordWrap=True)
        self._head.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self._about = QLabel(self.tr("One round, as it happened: what the draft proposed, what the target thinks of "
                                     "it, and why each token was kept or refused."), wordWrap=True)  # fmt: skip
        self._about.setProperty("muted", True)
        self.cards, self.pq, self.residual = RoundCards(), PQPlot(), ResidualPlot()
        self.figures, self.theory = Figures(), TheoryPanel()
        self._build()
        self._dress()
        self._text_timer = QTimer(self, singleShot=True)
        self._text_timer.timeout.connect(self._refresh_numbers)
        self._connect()
        self.refresh()

    def refresh(self) -> None:
        """Show everything anew."""
        self._refresh_cursor()
        self._refresh_numbers()
        self._refresh_sweep()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of the text's size."""
        if event.type() == QEvent.Type.FontChange and hasattr(self, "theory"):
            self._dress()
        super().changeEvent(event)

    def _dress(self) -> None:
        points = QApplication.font().pointSizeF()
        theme.set_headline(self._head)
        for plot, height in ((self.pq, PQ_HEIGHT), (self.residual, RESIDUAL_HEIGHT), (self.theory.plot, CURVE_HEIGHT)):
            plot.setMinimumHeight(round(height * points / theme.TEXT))

    def _build(self) -> None:
        left = FittingColumn(self._about, self._head, self.cards, (self.pq, 5), (self.residual, 3))
        right = column(panel(self.figures), (self.theory, 1))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(halves(left, right, (62, 38)))

    def _connect(self) -> None:
        s = self._session
        s.cursor_changed.connect(self._refresh_cursor)
        s.rounds_added.connect(self._numbers_soon)
        s.run_cleared.connect(lambda: self._totals.follow((), 0))
        for signal in (s.state_changed, s.run_cleared, s.pair_changed, s.config_changed):
            signal.connect(self._refresh_cursor)
            signal.connect(self._numbers_soon)
        s.sweep_changed.connect(self._refresh_sweep)
        s.pair_changed.connect(self._refresh_sweep)
        s.opened_changed.connect(self._refresh_sweep)
        s.opened_changed.connect(self._refresh_cursor)
        self.cards.position_chosen.connect(s.choose)
        self.theory.measure_requested.connect(s.measure)

    def _refresh_cursor(self) -> None:
        """Show the round, phase and position under the cursor."""
        playback, label = self._session.playback, self._label
        trace, reveal, at = playback.round, playback.reveal, playback.cursor.position
        self._head.setText(self._headline())
        self.cards.set_round(trace, reveal, label)
        self.cards.set_current(at)
        position = next((p for p in trace.positions if p.position == at), None) if trace else None
        shown = known(trace, reveal, at) if trace else EVERYTHING
        self.pq.set_position(position, label, shown)
        self.residual.set_position(position, label, shown)
        self._numbers_soon()

    def _label(self, token: int) -> str:
        return self._session.texts.label(token)

    def _headline(self) -> str:
        s = self._session
        if s.playback.round is not None:
            n = s.playback.cursor.round + 1
            told = describe(s.playback.round, s.playback.reveal, self._label)
            return self.tr("Round {n}: ").format(n=n) + told + self._ending()
        if s.obstacle:
            return s.obstacle
        return {
            State.EMPTY: self.tr("No models are loaded. Open a pair to begin."),
            State.LOADING: self.tr("Loading the models; the first round is possible in a moment."),
            State.MEASURING: self.tr("Measuring; rounds can be stepped again in a moment."),
            State.RUNNING: self.tr("Computing the first round …"),
            State.FINISHED: self.tr("The run ended before its first round. Ctrl+R starts over."),
        }.get(s.state, self.tr("Ready. Space shows the next step, R a whole round, P plays."))

    def _ending(self) -> str:
        """Return the sentence that says why no round follows, once the last one is shown."""
        finished = self._session.finished
        if finished is None or not self._session.playback.at_end:
            return ""
        if self._session.opened is not None and (told := opened_words.ending(self._session)):
            return f" {told}"
        return " " + {
            StopReason.BUDGET: self.tr("The run ends here: it has all the tokens asked for."),
            StopReason.END_TOKEN: self.tr("The run ends here: the text has ended."),
            StopReason.CONTEXT: self.tr("The run ends here: the target's context is full."),
        }.get(finished.stop, self.tr("The run was stopped here."))

    def _numbers_soon(self) -> None:
        if not self._text_timer.isActive():
            self._text_timer.start(TEXT_MS)

    def _refresh_numbers(self) -> None:
        s = self._session
        shown = s.playback.complete_rounds
        if not self._totals.follow(s.rounds, shown):
            self._text_timer.start(0)  # the rest, and the numbers, in the next turns
            return
        n = stage_numbers(self._totals.first(shown), (s.started or s).config.k, s.run_sweep)
        hint = self.tr("Press Measure to time this on your machine.")
        speeds, tip = self.tr("tokens/s with / without"), self.tr("Decoding only, prefill not counted.")
        both = f"{_number(n.with_speculation, 0)} / {_number(n.without, 0)}"
        if s.opened is not None and s.run_sweep is None:
            both, speeds = _number(n.with_speculation, 0), opened_words.speed_caption(s)
            tip = self.tr("By the times in the file, those of the machine that made it; prefill not counted.")
        self.figures.set_figures([
            Figure(_number(n.tokens_per_round), self.tr("tokens/round"), DEFINITIONS["acceptance_length"], "text"),
            Figure(_number(n.alpha), self.tr("alpha, Σ\u00a0min(p,\u00a0q)"), DEFINITIONS["alpha"], "both"),
            Figure(_number(n.c, 3), self.tr("c, draft / target"), self.tr("Time of one draft step divided by the time "
                   "of one target step, measured here.") if n.c else hint, "text"),
            Figure(_number(n.speed_measured, unit="×"), self.tr("measured speedup"), self.tr("Tokens per second at "
                   "this k over plain decoding, median of the repeats.") if n.speed_measured else hint, "extra"),
            Figure(_number(n.speed_predicted, unit="×"), self.tr("predicted speedup"), self.tr("(1 - alpha^(k+1)) / "
                   "((1 - alpha)(1 + k (c + c_verify) + fixed)) with the measured costs.") if n.c else hint, "missed"),
            Figure(both, speeds, tip if n.without or s.opened else hint, "text"),
        ])  # fmt: skip
        alpha = n.alpha
        self.theory.set_run_alpha(alpha)

    def _refresh_sweep(self) -> None:
        self.theory.set_sweep(self._session.run_sweep)
        self._refresh_numbers()


def _number(value: float | None, decimals: int = 2, unit: str = "") -> str:
    if value is None:
        return "–"
    return (f"{value:.{decimals}f}" if value >= 0.005 or not decimals else prob(value)) + unit
