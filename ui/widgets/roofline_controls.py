"""What the roofline is asked: device, model, weights, batch, context, and the alpha and c of the batch curve.

Knows: which choices there are. Does not know: what follows from them.
"""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QGridLayout, QLabel, QWidget

from simulator.cost.roofline import HARDWARE, SIZES, WEIGHT_BYTES, Hardware, Setting, Size
from simulator.parameters import PARAMETERS
from ui import theme
from ui.widgets.labelled_slider import LabelledSlider, align_labels

BATCHES = tuple(2**i for i in range(13))
CONTEXTS = (0, 128, 512, 2048, 8192, 32_768, 131_072)
DEFAULTS = {"device": "H100 SXM", "size": SIZES[1].name, "weights": "bfloat16", "batch": 1, "context": 512}
LONG = {"device": 4, "size": 5}  # whose texts are long: their shares of the width that the others leave


class RooflineControls(QWidget):
    """Five combos and two sliders; one signal when any of them changes."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._devices = {h.name: h for h in HARDWARE}
        self._sizes = {s.name: s for s in SIZES}
        self.combos = {
            "device": self._combo(self.tr("device"), [(h.name, h.name) for h in HARDWARE],
                                  self.tr("Memory bandwidth and dense FP16/BF16 peak from the vendors' data sheets.")),
            "size": self._combo(self.tr("model"), [(s.name, s.name) for s in SIZES],
                                self.tr("Parameters, layers and heads from the models' published configurations.")),
            "weights": self._combo(self.tr("weights"), [(w, w) for w in WEIGHT_BYTES],
                                   self.tr("How a weight is stored. The peak stays that of 16 bit arithmetic; keys and "
                                           "values take 16 bit at least.")),
            "batch": self._combo(self.tr("batch"), [(f"{b:,}", b) for b in BATCHES], self.tr("Sequences per pass.")),
            "context": self._combo(self.tr("context"), [(f"{n:,}", n) for n in CONTEXTS],
                                   self.tr("Tokens behind which a pass reads, in each sequence.")),
        }  # fmt: skip
        self.sliders = {name: self._slider(name) for name in ("alpha", "c")}
        for name, value in DEFAULTS.items():
            self.choose(name, value)
        self._build()
        for combo in self.combos.values():
            combo.currentIndexChanged.connect(lambda _: self.changed.emit())

    @property
    def setting(self) -> Setting:
        """Return what was chosen."""
        chosen = {name: combo.currentData() for name, combo in self.combos.items()}
        return Setting(self._devices[chosen["device"]], self._sizes[chosen["size"]], WEIGHT_BYTES[chosen["weights"]],
                       chosen["batch"], chosen["context"])  # fmt: skip

    def choose(self, name: str, value: object) -> None:
        """Choose a value of a combo; nothing happens where it is not among the choices."""
        index = self.combos[name].findData(value)
        if index >= 0:
            self.combos[name].setCurrentIndex(index)

    def set_own(self, device: Hardware | None, size: Size | None, dtype: str) -> None:
        """Offer this machine and this target first, and choose them; with None take them back."""
        for name, own, known in (("device", device, self._devices), ("size", size, self._sizes)):
            combo, fixed = self.combos[name], {x.name for x in (HARDWARE if name == "device" else SIZES)}
            with QSignalBlocker(combo):
                for gone in [key for key in known if key not in fixed]:
                    del known[gone]
                    combo.removeItem(combo.findData(gone))
                if own is not None:
                    known[own.name] = own
                    combo.insertItem(0, own.name, own.name)
                    combo.setCurrentIndex(0)
        if device is not None and size is not None:
            self.choose("weights", dtype if dtype in WEIGHT_BYTES else "bfloat16")
            self.choose("context", CONTEXTS[1])
            self.choose("batch", 1)
        self.changed.emit()

    def snap(self, **values: float) -> None:
        """Set sliders to measured values, widening their limits where a machine is beyond them."""
        for name, value in values.items():
            limits = PARAMETERS[name]
            self.sliders[name].set_range(limits.minimum, max(limits.maximum, value))
            self.sliders[name].setValue(value)

    def _combo(self, name: str, choices: list[tuple[str, object]], help: str) -> QComboBox:
        combo = QComboBox()
        for text, value in choices:
            combo.addItem(text, value)
        combo.setAccessibleName(name)
        combo.setToolTip(help)
        combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        combo.setMaxVisibleItems(20)
        return combo

    def _slider(self, name: str) -> LabelledSlider:
        p = PARAMETERS[name]
        slider = LabelledSlider(name, "", p.minimum, p.maximum, p.decimals, p.step, p.help, p.default)
        slider.value_changed.connect(lambda _: self.changed.emit())
        return slider

    def _build(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(theme.SPACE)
        grid.setVerticalSpacing(theme.SPACE // 2)
        for i, (name, combo) in enumerate(self.combos.items()):
            caption = QLabel(combo.accessibleName())
            caption.setProperty("muted", True)
            caption.setToolTip(combo.toolTip())
            grid.addWidget(caption, 0, 2 * i)
            grid.addWidget(combo, 0, 2 * i + 1)
            if name in LONG:
                combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
                combo.setMinimumContentsLength(4)
            grid.setColumnStretch(2 * i + 1, LONG.get(name, 0))
        grid.addWidget(self.sliders["alpha"], 1, 0, 1, 4)
        grid.addWidget(self.sliders["c"], 1, 4, 1, 6)
        align_labels(list(self.sliders.values()))
