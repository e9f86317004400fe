"""Acceptance: which rate is which, what independence misses, which numbers add up, and what others have published.

Knows: where the figures on screen come from (the run, files, pasted counters), and when each part is told anew.
Counting, laws and jobs are in `simulator`, the sentences in `ui.acceptance_words`.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QLabel, QTabWidget, QVBoxLayout, QWidget

from simulator.acceptance.beyond import Evidence, of_acceptance, of_published
from simulator.acceptance.body import Acceptance
from simulator.acceptance.correlation import FIT_K, control
from simulator.acceptance.jobs import ControlAnswer, control_job, support_job
from simulator.acceptance.published import Published
from simulator.acceptance.truncated import Truncation
from ui import acceptance_words as words
from ui import theme
from ui.run_figures import Counted, RunFigures
from ui.session import Session
from ui.states import CAN_RUN
from ui.widgets.addup_panel import AddUpPanel
from ui.widgets.arranging import row
from ui.widgets.beyond_panel import BeyondPanel
from ui.widgets.counts_source import CountsSource
from ui.widgets.published_panel import PublishedPanel
from ui.widgets.rates_panel import RatesPanel

TEXT_MS = 250  # figures change at most four times a second
CLOSE_S = 1.5  # how long closing waits for a run that is being counted
SHARE = 20  # counting may take a twentieth of the time, however long the run


class AcceptancePage(QWidget):
    """A source, one sentence, and four views of it."""

    title = "Acceptance"
    reported = Signal(object)  # a `Published` for the Stage's sliders and curves

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._other: Acceptance | None = None  # files or counters; None: the run of this window
        self._shown: Acceptance | None = None
        self._evidence: Evidence | None = None  # of what is shown
        self._published: Evidence | None = None  # of a published row, in its place beyond the rates
        self._dirty, self._fresh = True, False  # fresh: nothing else than the run on screen is shown
        self._figures = RunFigures(self)
        self.rates, self.beyond = RatesPanel(), BeyondPanel()
        self.addup, self.published = AddUpPanel(), PublishedPanel()
        self._build()
        self._dress()
        self._timer = QTimer(self, interval=TEXT_MS, singleShot=True)
        self._timer.timeout.connect(self.refresh)
        self._connect()
        self.refresh()

    # --- what the person does ---

    def show_run(self) -> None:
        """Go back to the run of this window."""
        self._take(None)

    def show_counters(self, a: Acceptance) -> None:
        """Show what was pasted, by its engine's names."""
        self.rates.choose_engine(a.source.removesuffix(" counters"))
        self._take(a)

    def run_control(self) -> None:
        """Decode the same prompts at k = 1 to 8."""
        s = self._session
        if s.pair is not None and not s.obstacle:
            s.ask(control_job(s.pair, s.prompt, s.config))

    def read_rows(self) -> None:
        """Read p and q of the run's text, whole rows."""
        s = self._session
        if s.pair is not None and s.pair.draft is not None and s.run is not None:
            run = s.run
            s.ask(support_job(s.pair, [*run.prompt, *run.tokens], len(run.prompt), run.config.sampling))

    def show_published(self, row: Published) -> None:
        """Hold a published draft's positions against the laws."""
        self._published = of_published(row)
        self.tabs.setCurrentWidget(self.beyond)
        self._show_tab()

    def shutdown(self) -> bool:
        """Stop reading files and counting; return whether the threads ended in time."""
        return all([self.source.close_thread(), self._figures.close(CLOSE_S)])

    # --- showing ---

    def refresh(self) -> None:
        """Count the source anew and show everything; hidden, only remember that it is due."""
        if not self.isVisible():
            self._dirty = True
            return
        self._dirty = False
        s, run = self._session, self._session.run
        if self._other is None and run is not None:
            self._figures.count(s.opened.name if s.opened else self.tr("this run"), run)
            if self._figures.busy and not self._fresh:
                self._show(None, None)
        else:
            self._figures.drop()
            self._show(self._other, of_acceptance(self._other) if self._other is not None else None)

    def _show_counted(self, found: Counted) -> None:
        self._fresh = True
        self._show(found.acceptance, found.evidence)
        self._timer.setInterval(max(TEXT_MS, round(1000 * SHARE * found.seconds)))

    def _show(self, acceptance: Acceptance | None, evidence: Evidence | None) -> None:
        self._shown, self._evidence = acceptance, evidence
        self._show_tab()
        self._show_session()

    def _soon(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    def _run_changed(self) -> None:
        """Drop what belongs to the run that was put away."""
        self._figures.drop()
        self._fresh = False
        self.addup.set_truncation(None)
        self._soon()

    def _take(self, other: Acceptance | None) -> None:
        self._other, self._published, self._fresh = other, None, False
        several = other is not None and len(other.full) > 1  # draft lengths
        self.beyond.set_control(control(other.full, FIT_K, other.alphas.get(FIT_K)) if several else None, False)
        self.refresh()

    def _show_source(self) -> None:
        shown, other = self._published or self._shown, self._published or self._other
        self.source.set_shown("" if shown is None else shown.source, other is not None)

    def _show_rates(self) -> None:
        a, tab = self._shown, self.tabs.currentWidget()
        if self._published is not None and tab in (self.beyond, self.addup):
            self._head.setText(words.reported(self._published))
        else:
            waits = len(self._session.rounds) if self._figures.busy else 0
            self._head.setText(words.headline(a, self.rates.engine, self._session.pair is not None, waits))
        if tab is self.rates:
            self.rates.set_acceptance(a, self._evidence)

    def _show_evidence(self) -> None:
        for panel in (self.beyond, self.addup):
            if self.tabs.currentWidget() is panel:
                panel.set_evidence(self._published or self._evidence)
        self._show_source()

    def _show_tab(self) -> None:
        """Tell the tab that has come to the front; one that nobody sees is told nothing."""
        self._show_rates()
        self._show_evidence()

    def _show_session(self) -> None:
        s = self._session
        can = s.state in CAN_RUN and s.pair is not None and not s.obstacle
        self.beyond.set_allowed(can and s.config.source != "none")
        why = ""
        if s.pair is not None and s.pair.draft is None:
            why = self.tr("This pair has no draft model, so there is no q to cut.")
        no_text = self.tr("Step the run first: its text is what both models read.")
        no_pair = self.tr("Open a pair and step its run first: its text is what both models read.")
        if s.foreign and s.pair is not None:
            why = why or self.tr("The run on screen was made by other models than the loaded pair.")
        why = why or (no_pair if s.pair is None else "" if s.rounds else no_text)
        self.addup.set_allowed(can and not why, why)

    # --- answers ---

    def _answered(self, answer: object) -> None:
        if isinstance(answer, ControlAnswer):
            self.beyond.set_control(answer.control, True)
        elif isinstance(answer, Truncation):
            self.addup.set_truncation(answer)

    # --- building ---

    def _build(self) -> None:
        about = QLabel(
            self.tr("How many drafted tokens are accepted, by every definition that papers and engines use."),
            wordWrap=True,
        )
        about.setProperty("muted", True)
        self._head, self.source = QLabel(wordWrap=True), CountsSource()
        self._head.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        names = self.tr("Rates"), self.tr("Beyond independence"), self.tr("Do they add up?"), self.tr("Published")
        for panel, text in zip((self.rates, self.beyond, self.addup, self.published), names, strict=True):
            self.tabs.addTab(panel, text)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.SPACE)
        engine = QLabel(self.tr("My engine or paper"))
        engine.setProperty("muted", True)
        for part in (about, self._head, row((self.source, 1), engine, self.rates.engines)):
            layout.addWidget(part)
        layout.addWidget(self.tabs, 1)

    def _connect(self) -> None:
        s = self._session
        for signal in (s.rounds_added, s.run_finished, s.state_changed, s.config_changed, s.pair_changed):
            signal.connect(self._soon)
        s.run_cleared.connect(self._run_changed)
        self._figures.told.connect(self._show_counted)
        self._figures.failed.connect(s.problem)
        self.source.run_wanted.connect(self.show_run)
        self.source.opened.connect(self._take)
        self.source.failed.connect(s.problem)
        self.source.counters_pasted.connect(self.show_counters)
        s.answered.connect(self._answered)
        self.rates.engine_changed.connect(self._show_rates)
        self.tabs.currentChanged.connect(self._show_tab)
        self.beyond.control_wanted.connect(self.run_control)
        self.addup.rows_wanted.connect(self.read_rows)
        self.published.reported.connect(self.reported)
        self.published.beyond.connect(self.show_published)

    # --- Qt ---

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with what changed while hidden."""
        super().showEvent(event)
        if self._dirty:
            self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """Count nothing that nobody sees."""
        self._timer.stop()
        self._dirty = True
        super().hideEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme or of the text's size."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.PaletteChange) and hasattr(self, "_timer"):
            self._dress()

    def _dress(self) -> None:
        theme.set_headline(self._head)
