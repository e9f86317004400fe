"""The rule laboratory: does a rule emit exactly p? Predict, draw, compare, and follow the identity term by term.

Knows how its parts are laid out and when each is told anew. Laws, draws and tests are in `simulator`, the words in
`ui.lab_words`.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QStackedWidget, QTabWidget, QWidget

from simulator.exactness.laws import law
from simulator.exactness.sequence import Divergence, Sequences
from ui import lab_model, lab_words, theme
from ui.lab_experiment import Experiment
from ui.lab_figures import lab_figures
from ui.lab_headline import headline
from ui.lab_model import HAND, POSITION, RANDOM, SAME, Setup
from ui.plots.emitted_plot import Emitted, EmittedPlot
from ui.plots.pair_plot import PairPlot
from ui.session import Session
from ui.states import CAN_RUN
from ui.widgets.arranging import halves, panel
from ui.widgets.draw_row import DrawRow
from ui.widgets.figures import Figures
from ui.widgets.fitting import FittingColumn
from ui.widgets.predict_panel import PredictPanel
from ui.widgets.proof_panel import ProofPanel
from ui.widgets.rule_panel import RulePanel
from ui.widgets.sequence_panel import SequencePanel
from ui.widgets.source_row import SourceRow

TEXT_MS = 250  # numbers change at most four times a second
PLOT_HEIGHT = 160  # px at the usual size of the text
ANSWERS = {"p": "resample", "residual": "exact", "": "exact"}  # the rule that tests each prediction


class ExactnessPage(QWidget):
    """What goes in above, what comes out below, the rule and its account on the right."""

    title = "Exactness"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._answer: str | None = None  # None: not asked yet
        self._explaining = False
        self._hand: Setup | None = None
        self._colour = "text"
        self.setup: Setup | None = None
        self.experiment = Experiment(self)
        self.source, self.draws = SourceRow(), DrawRow()
        self.pair_plot, self.emitted_plot = PairPlot(), EmittedPlot()
        self.rule, self.predict, self.figures = RulePanel(), PredictPanel(), Figures()
        self.proof, self.texts = ProofPanel(), SequencePanel()
        self._build()
        self._dress()
        self._text_timer = QTimer(self, interval=TEXT_MS, singleShot=True)
        self._text_timer.timeout.connect(self._show_numbers)
        self._connect()
        self._show_session()
        self.refresh()

    # --- what the person does ---

    def answer(self, answer: str) -> None:
        """Take the prediction: it chooses the rule, and the answer is explained on the bars."""
        self._answer, self._explaining = answer, bool(answer)
        self.rule.show_rule(ANSWERS[answer])
        self.refresh()

    def draw(self, draws: int) -> None:
        """Make so many more draws."""
        self._explaining = False
        self.experiment.start(draws)

    def shutdown(self) -> bool:
        """Stop drawing and end the thread; return whether it ended in time."""
        return self.experiment.close()

    def refresh(self) -> None:
        """Take the setup anew and show everything; draws of another setup are forgotten."""
        self._dirty = not self.isVisible()
        before, self.setup = self.setup, self._make_setup()
        self.experiment.reset(self.setup)
        if before is None or (before.where != self.setup.where and self.source.source != HAND):
            self._choose(lab_model.telling(self.setup.pair))
        self.pair_plot.set_pair(self.setup.pair, self.setup.labels)
        self.emitted_plot.set_pair(self.setup.pair, self.setup.labels)
        question = self.tr("What comes out is shown after your prediction.") if self._answer is None else ""
        self.emitted_plot.ask(question)
        self._show_proof()
        self._show_tally()
        self._show_numbers()

    # --- the setup ---

    def _make_setup(self) -> Setup:
        source = self.source.source
        setup = self._hand if source == HAND else None
        if source == POSITION:
            setup = self._position_setup()
        elif source == RANDOM:
            setup = lab_model.from_seed(self.source.seed)
        if setup is None:  # a worked example, also while the run has no position with both p and q
            setup = lab_model.from_example(source if source in lab_model.EXAMPLES else "crossing")
        return setup.under(self.rule.rule, self.rule.parameter)

    def _position_setup(self) -> Setup | None:
        s, m = self._session, int(self.source.top.value())
        return lab_model.from_run(s.playback.round, s.playback.cursor, m, s.texts.label)

    def _session_moved(self) -> None:
        """Follow the run where the pair is taken from it; hidden, only remember that something is due."""
        if self.source.source == POSITION and self.isVisible():
            self.refresh()
        else:
            self._dirty = True

    def _dragged(self, side: str, column: int, value: float) -> None:
        self._hand = lab_model.by_hand(self.setup, side, column, value)
        if self.source.source != HAND:
            self.source.choose(HAND)
        else:
            self.refresh()

    def _source_changed(self) -> None:
        if self.source.source == HAND and self._hand is None:
            self._hand = self.setup
        self.refresh()

    def _show_session(self) -> None:
        s = self._session
        self.texts.set_allowed(s.state in CAN_RUN and s.pair is not None and not s.obstacle)
        if s.pair is not None:
            self.texts.set_label(s.pair.texts.label)

    def _rule_changed(self) -> None:
        self._explaining = False
        self.refresh()

    # --- showing ---

    def _choose(self, column: int) -> None:
        self.pair_plot.set_chosen(column)
        self.emitted_plot.set_chosen(column)

    def _show_chosen(self, column: int) -> None:
        self._choose(column)
        self._show_proof()

    def _show_proof(self) -> None:
        """Write the account of the chosen outcome, and keep its light on the picture."""
        s, token = self.setup, self.pair_plot.chosen
        head = self.tr("How {t} comes out: click a term to see it in the picture.")
        head = head.format(t=lab_words.name(s, token))
        self.proof.set_proof(head, lab_words.terms(s, token), lab_words.conclusion(s))
        self._spotlight(self.proof.chosen)

    def _spotlight(self, term: lab_words.Term | None) -> None:
        self.pair_plot.spotlight(term.spot if term is not None else None)

    def _show_tally(self) -> None:
        """Bring the bars below up to date; called for every report of the running draws."""
        e, wrong = self.experiment, self._explaining and self._answer != "p"
        closed = law(ANSWERS["p"], self.setup.pair.p, self.setup.pair.q) if wrong else self.setup.law()
        text = self.tr("if drawn from p") if wrong else self.tr("closed form")
        differs = bool(e.check and e.check.flagged) and closed.tv > SAME
        self.emitted_plot.set_emitted(Emitted(e.tally, closed.emitted if closed.tv > SAME else None, text, differs))
        self.draws.set_state(self._answer is not None, e.running, e.tally.draws > 0, lab_words.about_test(e.check))
        if not self._text_timer.isActive():
            self._text_timer.start()

    def _show_numbers(self) -> None:
        """Bring sentences, figures and buttons up to date."""
        e = self.experiment
        self.stack.setCurrentIndex(int(self._answer is not None))
        sentence = headline(e, self.setup, self._answer, self._explaining, self.source.source == POSITION)
        self._head.setText(f"{sentence.sign} {sentence.text}".strip())
        self._colour = sentence.colour
        self._dress()
        self.figures.set_figures(lab_figures(e, self.setup, self._session.config.k))

    # --- building ---

    def _build(self) -> None:
        about = QLabel(self.tr("Does a rule emit exactly what the target would? Above is what goes in, below what "
                               "comes out."), wordWrap=True)  # fmt: skip
        about.setProperty("muted", True)
        self._head = QLabel(wordWrap=True)
        self._head.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.stack, self.views = QStackedWidget(), QTabWidget()
        self.views.setDocumentMode(True)
        self.views.addTab(panel(self.proof), self.tr("One token"))
        self.views.addTab(panel(self.texts), self.tr("Whole texts"))
        self.stack.addWidget(panel(self.predict))
        self.stack.addWidget(FittingColumn(panel(self.rule), panel(self.figures), (self.views, 1)))
        left = FittingColumn(about, self._head, self.source, (self.pair_plot, 1), self.draws, (self.emitted_plot, 1))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(halves(left, self.stack, (64, 36), (720, 410)))

    def _connect(self) -> None:
        s, e = self._session, self.experiment
        for signal in (s.cursor_changed, s.run_cleared, s.pair_changed):
            signal.connect(self._session_moved)
        s.config_changed.connect(self._text_timer.start)
        e.changed.connect(self._show_tally)
        e.finished.connect(self._show_numbers)
        e.failed.connect(lambda sentence: s.problem.emit(sentence, ""))
        self.draws.draw.connect(self.draw)
        self.draws.stop.connect(e.stop)
        self.draws.clear.connect(self.refresh)
        self.source.changed.connect(self._source_changed)
        self.rule.changed.connect(self._rule_changed)
        self.predict.answered.connect(self.answer)
        self.pair_plot.dragged.connect(self._dragged)
        self.pair_plot.column_chosen.connect(self._show_chosen)
        self.proof.term_chosen.connect(self._spotlight)
        self.texts.wanted.connect(s.compare)
        s.answered.connect(lambda answer: isinstance(answer, Sequences | Divergence) and self.texts.set_result(answer))
        for signal in (s.pair_changed, s.config_changed):
            signal.connect(self.texts.clear)
        for signal in (s.pair_changed, s.config_changed, s.state_changed):
            signal.connect(self._show_session)

    # --- Qt ---

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with what changed while hidden."""
        super().showEvent(event)
        if self._dirty:
            self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """Draw nothing that nobody sees."""
        self.experiment.stop()
        super().hideEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of theme or of the text's size."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.PaletteChange) and hasattr(self, "_text_timer"):
            self._dress()

    def _dress(self) -> None:
        theme.set_headline(self._head, self._colour)
        for plot in (self.pair_plot, self.emitted_plot):
            plot.setMinimumHeight(round(PLOT_HEIGHT * QApplication.font().pointSizeF() / theme.TEXT))
