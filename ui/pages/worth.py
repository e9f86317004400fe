"""Worth it? How flat the target is along a text, what each draft source reaches there, and whether that pays.

Knows how its parts are laid out and when each is told anew. The numbers come from `simulator.worth.flatness` and
`simulator.worth.outlook`, the words from `ui.worth_words`.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QWidget

from simulator.worth.flatness import NONE, TOPS, Analysis
from simulator.worth.jobs import Look, Subject, analyse_job, look_job
from ui import theme, worth_figures, worth_model, worth_words
from ui.lab_words import Sentence
from ui.plots.histogram_plot import HistogramPlot
from ui.plots.look_plot import LookPlot
from ui.plots.mass_plot import MassPlot
from ui.plots.sources_plot import SourcesPlot
from ui.session import Session
from ui.states import CAN_RUN
from ui.widgets.arranging import halves, panel, row
from ui.widgets.cost_panel import CostPanel
from ui.widgets.fitting import FittingColumn
from ui.widgets.subject_row import SubjectRow
from ui.widgets.text_part import TextPart
from ui.worth_model import Findings

TEXT_MS = 250  # numbers change at most four times a second
HEIGHTS = {"plots": 162, "look": 200, "sources": 200}  # px at the usual size of the text


class WorthPage(QWidget):
    """The text and its flatness on the left, the decision on the right."""

    title = "Worth it?"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._subject: Subject | None = None  # of the analysis that is shown
        self._asked: Subject | None = None  # of the one that was asked for
        self.analysis: Analysis | None = None
        self._found: Findings | None = None
        self._look: Look | None = None
        self._fresh = True  # whether another analysis is to be drawn than the one on screen
        self._colour = "text"
        self.subjects, self.costs = SubjectRow(), CostPanel()
        self.top_plot = HistogramPlot(self.tr("How sure the target is: its largest p at each token."))
        self.entropy_plot = HistogramPlot(self.tr("How flat p is: its entropy at each token."))
        self.mass_plot = MassPlot()
        self.sources_plot, self.look_plot, self.text = SourcesPlot(), LookPlot(), TextPart()
        self._build()
        self._dress()
        self._timer = QTimer(self, interval=TEXT_MS, singleShot=True)
        self._timer.timeout.connect(self.refresh)
        self._connect()
        self._show_state()
        self.costs.set_sweep(session.sweep, session.config.source)
        self.refresh()

    # --- what the person does ---

    def analyse(self, subject: Subject) -> None:
        """Read a text, or a file of rows, in the background."""
        s = self._session
        if s.pair is not None and s.state in CAN_RUN:
            self._asked = subject
            s.ask(analyse_job(s.pair, subject, s.config.sampling))

    def analyse_run(self) -> None:
        """Read the text of the run: its prompt and what it has emitted."""
        run = self._session.run
        if run is not None:
            self.analyse(Subject(self.tr("this run's text"), ids=(*run.prompt, *run.tokens)))

    def choose(self, position: int) -> None:
        """Compute the p and q of one position anew, and show them."""
        a, s = self.analysis, self._session
        if a is not None and s.pair is not None and self._subject is not None and s.state in CAN_RUN:
            s.ask(look_job(s.pair, self._subject, a, position), quiet=True)

    # --- what the session says ---

    def _take(self, answer: object) -> None:
        if isinstance(answer, Look):
            self._look = answer
            self._show_look()
        elif isinstance(answer, Analysis):
            if self._asked is not None:  # the first of another text
                self._subject, self._asked, self._look = self._asked, None, None
                self.analysis = answer
                self.text.set_analysis(answer, self._label, self._has_texts(), other=True)
            self.analysis, self._found, self._fresh = answer, None, True
            self._soon()

    def _forget(self) -> None:
        """Drop what was said about another pair; a file of rows knows no pair."""
        if self._subject is not None and self._subject.rows is None:
            self._subject, self.analysis, self._found, self._look = None, None, None, None
            self.text.show_from(0)
        self._fresh = True
        self._show_state()
        self._soon()

    def _show_state(self) -> None:
        s = self._session
        ready = s.pair is not None and s.state in CAN_RUN
        self.subjects.set_allowed(ready, bool(s.rounds) and not s.foreign, self._subject is not None)
        self.costs.measure.setEnabled(ready and not s.obstacle)
        self._soon()

    def _show_sweep(self) -> None:
        self.costs.set_sweep(self._session.sweep, self._session.config.source)

    # --- showing ---

    def _soon(self) -> None:
        if self.isVisible() and hasattr(self, "_timer") and not self._timer.isActive():
            self._timer.start()

    def refresh(self) -> None:
        """Show what has changed: costs move the decision only, another analysis everything."""
        a = self.analysis
        if a is not None and self._found is None:
            self._found = worth_model.findings(a)
        self._show_decision()
        if self._fresh:
            self._fresh = False
            self._show_plots()
            self._show_text()
            self._show_look()

    def _show_plots(self) -> None:
        a, found = self.analysis, self._found
        if a is None:
            for plot in (self.top_plot, self.entropy_plot):
                plot.set_histogram(None)
            self.mass_plot.set_masses((), ())
            return
        for plot, shown in zip((self.top_plot, self.entropy_plot), worth_figures.histograms(a, found), strict=True):
            plot.set_histogram(shown)
        self.mass_plot.set_masses(TOPS, found.masses)

    def _show_decision(self) -> None:
        """Bring verdict, sources, figures and sentences up to date; the costs may have changed alone."""
        a, found = self.analysis, self._found
        if a is None or found is None:
            invitation = worth_words.invitation(self._session.pair is not None, bool(self._session.rounds))
            self._say(invitation, self.tr("Every figure holds on the text that is read."), "", "")
            self.sources_plot.set_sources((), self.tr("The draft sources are compared here."))
            return
        outlooks = worth_model.outlooks(found, self.costs.costs)
        self.sources_plot.set_sources(worth_figures.columns(found, outlooks), worth_words.no_source())
        verdicts = [worth_words.verdict(name, o) for name, o in outlooks.items()] + worth_words.silent(a, found)
        about = worth_words.about(a, self._session.config.sampling)
        flat = worth_words.flatness(a, found, self.costs.costs(worth_model.DETERMINISTIC[0]))
        head = worth_words.headline(outlooks, self.costs.measured)
        self._say(head, about, "\n".join(verdicts), flat)

    def _say(self, head: Sentence, about: str, verdicts: str, flat: str) -> None:
        self._head.setText(f"{head.sign} {head.text}".strip())
        for label, text in ((self._conditions, about), (self._verdicts, verdicts), (self._flat, flat)):
            label.setText(text)
            label.setVisible(bool(text))
        if head.colour != self._colour:
            self._colour = head.colour
            self._dress()

    def _show_text(self) -> None:
        self.text.set_analysis(self.analysis, self._label, self._has_texts())

    def _has_texts(self) -> bool:
        """Return whether the ids are those of the pair's tokenizer; a file of rows may come from any model."""
        return self._session.pair is not None and (self._subject is None or self._subject.rows is None)

    def _label(self, token: int) -> str:
        return self._session.pair.texts.label(token) if self._has_texts() else str(token)

    def _show_look(self) -> None:
        look, a = self._look, self.analysis
        token = a.token(look.index) if look is not None and a is not None else NONE
        self.look_plot.set_look(look.position if look is not None else None, token, self._label)

    # --- building ---

    def _build(self) -> None:
        question = self.tr("Does drafting pay on a text like this? Figures on this text, not on the text the pair "
                           "would write.")  # fmt: skip
        about = QLabel(question, wordWrap=True)
        about.setToolTip(self.tr("Each token of the text is predicted from those before it."))
        self._head, self._conditions, self._verdicts, self._flat = (QLabel(wordWrap=True) for _ in range(4))
        for label in (about, self._conditions, self._flat):
            label.setProperty("muted", True)
        for label in (self._head, self._conditions, self._verdicts, self._flat):
            label.setTextFormat(Qt.TextFormat.PlainText)
        self._verdicts.setToolTip(worth_words.definitions())
        plots = row((self.top_plot, 1), (self.mass_plot, 1), (self.entropy_plot, 1))
        left = FittingColumn(about, self.subjects, self._conditions, (plots, 2), (self.text, 3), (self.look_plot, 3))
        right = FittingColumn(self._head, (self.sources_plot, 1), self._verdicts, self._flat, panel(self.costs))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(halves(left, right, (64, 36), (720, 410)))

    def _connect(self) -> None:
        s = self._session
        s.answered.connect(self._take)
        s.pair_changed.connect(self._forget)
        for signal in (s.state_changed, s.rounds_added, s.run_cleared, s.config_changed):
            signal.connect(self._show_state)
        s.sweep_changed.connect(self._show_sweep)
        self.costs.changed.connect(self._show_decision)
        self.costs.measure_wanted.connect(s.measure)
        self.subjects.chosen.connect(self.analyse)
        self.subjects.run_wanted.connect(self.analyse_run)
        self.subjects.again.connect(self._analyse_again)
        self.text.position_chosen.connect(self.choose)

    def _analyse_again(self) -> None:
        if self._subject is not None:
            self.analyse(self._subject)

    # --- Qt ---

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with what changed while hidden."""
        super().showEvent(event)
        self._timer.start(0)

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme or of the text's size."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.PaletteChange) and hasattr(self, "_timer"):
            self._dress()
            self._fresh = True  # the key to the tint has the theme's colours
            self._soon()

    def _dress(self) -> None:
        theme.set_headline(self._head, self._colour)
        scale = QApplication.font().pointSizeF() / theme.TEXT
        shares = {"plots": scale**1.5}  # three side by side: their keys take more lines, too
        plots = [(plot, "plots") for plot in (self.top_plot, self.mass_plot, self.entropy_plot)]
        for widget, name in (
            *plots,
            (self.look_plot, "look"),
            (self.sources_plot, "sources"),
        ):
            widget.setMinimumHeight(round(HEIGHTS[name] * shares.get(name, scale)))
