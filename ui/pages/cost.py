"""What speculation costs: pass time against width, the way from formula to measurement, the roofline, the batch.

Knows how its parts are laid out and when each is told anew. Costs are in `simulator`, the words in `ui.cost_words`.
"""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QFontMetricsF, QShowEvent
from PySide6.QtWidgets import QApplication, QGridLayout, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from simulator.cost.machine import MachineCost
from simulator.cost.roofline import Setting, one_pass
from simulator.cost.verdict import alpha_of, verdict
from simulator.cost.waterfall import from_sweep
from simulator.jobs import cost_job
from simulator.loading import Pair
from simulator.measure import Sweep
from simulator.parameters import PARAMETERS
from ui import cost_words, theme
from ui.plots.batch_plot import Batch, BatchPlot
from ui.plots.roofline_plot import Measured, RooflinePlot
from ui.plots.verify_plot import VerifyPlot
from ui.plots.waterfall_plot import WaterfallPlot
from ui.session import Session
from ui.states import BUSY, CAN_RUN, State
from ui.widgets.arranging import column, panel
from ui.widgets.figures import Figures
from ui.widgets.fitting import Fitting, FittingColumn
from ui.widgets.labelled_slider import LabelledSlider
from ui.widgets.roofline_controls import RooflineControls

PLOT_HEIGHT = 235  # px at the usual size of the text


class CostPage(QWidget):
    """Measured costs above, the roofline below."""

    title = "Cost"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.found: MachineCost | None = None  # for this pair, until another is loaded
        self._measured_pair: Pair | None = None
        self._next = False  # whether the passes are to be timed once the sweep is done
        self._dirty = True
        self.verify, self.waterfall = VerifyPlot(), WaterfallPlot()
        self.roofline, self.batch = RooflinePlot(), BatchPlot()
        self.controls, self.figures = RooflineControls(), Figures(6)
        limits = PARAMETERS["k"]
        self.k = LabelledSlider(limits.label, "", 1, limits.maximum, 0, 1, limits.help, session.config.k or 1)
        self._build()
        self._dress()
        self._connect()
        self.refresh()

    # --- what the person does ---

    def measure(self) -> None:
        """Measure what is missing: the sweep over k, then passes and bandwidth; both anew where nothing is."""
        s = self._session
        if s.state not in CAN_RUN or s.pair is None or s.obstacle:
            return
        if self._sweep is None or self.found is not None:
            self._next = True
            s.measure()
        else:
            self._time_passes()

    def refresh(self) -> None:
        """Show everything anew."""
        self._dirty = not self.isVisible()
        s, sweep, k = self._session, self._sweep, int(self.k.value())
        allowed = s.state in CAN_RUN and s.pair is not None and not s.obstacle
        self.button.setEnabled(allowed)
        self.button.setText(self.tr("Measure again") if sweep or self.found else self.tr("Measure this machine"))
        said, fall = verdict(sweep, s.config.rule), from_sweep(sweep, k, s.config.rule) if sweep else None
        self._head.setText(cost_words.sentence(said) if said else self._no_verdict())
        self._context.setText(cost_words.conditions(self.found, s.pair))
        self.figures.set_figures(cost_words.figures(said, self.found, fall))
        times, knee = (self.found.times, self.found.knee) if self.found else ((), None)
        self.verify.set_times(times, knee, k, self.tr("How long a pass over 1 to 33 tokens takes appears here after "
                                                      "the measurement."))  # fmt: skip
        self.waterfall.set_fall(fall, self._no_fall(sweep, k))
        self._show_roofline()

    # --- measuring ---

    @property
    def _sweep(self) -> Sweep | None:
        """Return the session's sweep once it is complete."""
        sweep = self._session.sweep
        return sweep if sweep is not None and sweep.figures is not None else None

    def _time_passes(self) -> None:
        s = self._session
        if s.state in CAN_RUN and s.pair is not None:
            self._measured_pair = s.pair
            s.ask(cost_job(s.pair, s.prompt))

    def _take(self, answer: object) -> None:
        if isinstance(answer, MachineCost) and self._session.pair is self._measured_pair:
            self.found = answer
            device = answer.machine.hardware(self.tr("this machine ({d})").format(d=self._session.pair.target.device))
            self.controls.set_own(device, answer.size, self._session.pair.target.dtype)
            self._show()

    def _state_changed(self) -> None:
        """Go on with the second half of the measurement once the first is kept; forget it where it was cancelled."""
        if self._next and self._session.state not in BUSY:
            self._next = False
            if self._sweep is not None:
                QTimer.singleShot(0, self, self._time_passes)  # not inside the signal: others have yet to hear it
        self._show()

    def _pair_changed(self) -> None:
        if self._session.pair is not self._measured_pair and self.found is not None:
            self.found = None
            self.controls.set_own(None, None, "")
        self._show()

    def _sweep_changed(self) -> None:
        sweep = self._sweep
        alpha = alpha_of(sweep.figures, self._session.config.rule) if sweep is not None else None
        if sweep is not None and sweep.cost is not None and alpha is not None:
            self.controls.snap(alpha=alpha, c=sweep.cost.c)
        self._show()

    def _config_changed(self) -> None:
        if self._session.config.k:
            self.k.setValue(self._session.config.k)
        self._show()

    # --- showing ---

    def _show(self) -> None:
        """Show what changed, or remember that something did while nobody looks."""
        if self.isVisible():
            self.refresh()
        else:
            self._dirty = True

    def _show_roofline(self) -> None:
        setting, k = self.controls.setting, int(self.k.value())
        alpha, c = (self.controls.sliders[name].value() for name in ("alpha", "c"))
        self.roofline.set_setting(setting, k, self._measured(setting, k))
        self.batch.set_batch(Batch(setting, k, alpha, c))
        self._said.setText(cost_words.roofline_sentence(setting, k, alpha, c))

    def _measured(self, setting: Setting, k: int) -> tuple[Measured, ...]:
        """Return the passes timed here, where the roofline shows this machine with this target as loaded, batch 1."""
        found = self.found
        if found is None or found.size is None:
            return ()
        shown = setting.hardware.bandwidth, setting.size, setting.weight_bytes, setting.batch
        if shown != (found.machine.bandwidth, found.size, found.weight_bytes, 1):
            return ()
        here = Setting(setting.hardware, found.size, found.weight_bytes, 1, found.context)
        names = {1: self.tr("decode"), k + 1: self.tr("verify {n}").format(n=k + 1)}
        passes = {t.width: (one_pass(here, t.width), t.ms.median / 1000) for t in found.times if t.width in names}
        return tuple(Measured(names[n], p.intensity, p.flops / seconds) for n, (p, seconds) in passes.items())

    def _no_verdict(self) -> str:
        s = self._session
        if s.pair is None:
            return self.tr("No models are loaded. Open a pair to measure it; the roofline below needs none.")
        if s.obstacle:
            return s.obstacle
        if s.state is State.MEASURING:
            return self.tr("Measuring: every k from 0 to 8 against plain decoding, then passes and bandwidth.")
        if self._sweep is not None:
            return cost_words.never_drafted(s.config.source)
        if self.found is not None:
            return self.tr("Prompt or settings have changed: measure again to see whether drafting pays with them.")
        return self.tr("Does drafting pay on this machine? Press Measure: about ten seconds with the bundled pair, "
                       "longer with larger models.")  # fmt: skip

    def _no_fall(self, sweep: Sweep | None, k: int) -> str:
        if sweep is None:
            return self.tr("The way from the formula's promise to the measured speedup appears here after the "
                           "measurement.")  # fmt: skip
        return cost_words.no_waterfall(sweep, k, self._session.config.source)

    # --- building ---

    def _build(self) -> None:
        about = QLabel(self.tr("What does a round cost on this machine, where does the formula's promise go, and when "
                               "does verifying stop being free?"), wordWrap=True)  # fmt: skip
        about.setProperty("muted", True)
        self._head, self._said = QLabel(wordWrap=True), QLabel(wordWrap=True)
        self._head.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self._context = QLabel(wordWrap=True)
        self._context.setProperty("muted", True)
        self.button = QPushButton()
        self.button.setProperty("primary", True)
        self.button.setToolTip(self.tr("Times every k from 0 to 8 (unless the Stage has), passes of 1 to 33 tokens, "
                                       "a large copy and two products. It can be cancelled."))  # fmt: skip
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(2 * theme.SPACE)
        line.addWidget(self.button)
        line.addWidget(self.k, 2)
        line.addWidget(self._context, 3)
        plots = Fitting()
        grid = QGridLayout(plots)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(theme.SPACE)
        for i, plot in enumerate((self.verify, self.waterfall, self.roofline, self.batch)):
            plot.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)  # two rows share the page
            grid.addWidget(plot, i // 2 * 2, i % 2)
            grid.setRowStretch(i // 2 * 2, 1)
            grid.setColumnStretch(i % 2, 1)
        grid.addWidget(panel(column(self.controls, self._said)), 1, 0, 1, 2)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(FittingColumn(about, self._head, row, panel(self.figures), (plots, 1)))

    def _connect(self) -> None:
        s = self._session
        s.state_changed.connect(self._state_changed)
        s.pair_changed.connect(self._pair_changed)
        s.config_changed.connect(self._config_changed)
        s.sweep_changed.connect(self._sweep_changed)
        s.answered.connect(self._take)
        self.button.clicked.connect(self.measure)
        self.k.value_changed.connect(lambda _: self._show())
        self.controls.changed.connect(self._show)

    # --- Qt ---

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with what changed while hidden."""
        super().showEvent(event)
        if self._dirty:
            self.refresh()

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of the text's size."""
        if event.type() == QEvent.Type.FontChange and hasattr(self, "controls"):
            self._dress()
        super().changeEvent(event)

    def _dress(self) -> None:
        points = QApplication.font().pointSizeF()
        theme.set_headline(self._head)
        self._said.setMinimumHeight(math.ceil(2 * QFontMetricsF(theme.text_font()).lineSpacing()))
        for plot in (self.verify, self.waterfall, self.roofline, self.batch):
            plot.setMinimumHeight(round(PLOT_HEIGHT * points / theme.TEXT))
