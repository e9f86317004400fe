"""The table of runs as Qt's views want it: groups, and under each its single runs.

Knows: rows, columns, sorting. Does not know: how figures are made (`simulator.grids.figures`), or where runs come from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt
from PySide6.QtGui import QFont

from simulator.grids.brief import Brief
from simulator.grids.figures import Account, Group, GroupFigures, single
from simulator.grids.table import cells, in_order
from ui import theme
from ui.runs_values import opening, sentence, shown
from ui.widgets.digits import prob

COLUMNS = ("row", "models", "temperature", "source", "rule", "tokens_per_round", "formula", "correlated", "alpha",
           "speedup", "predicted", "tokens_per_second", "runs", "tokens", "rounds", "stop")  # fmt: skip
SETTINGS = ("models", "temperature", "source", "rule", "stop")  # told once above the table where all rows agree


@dataclass(eq=False, slots=True)
class GroupNode:
    """One row of pooled runs."""

    group: Group
    figures: GroupFigures
    runs: list[RunNode] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class RunNode:
    """One run under its group."""

    parent: GroupNode
    run: Brief
    values: dict[str, Any]


class RunsModel(QAbstractItemModel):
    """Two levels: groups in the order asked for, and the runs of each."""

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self._account = Account()
        self._by = ""
        self._nodes: dict[Group, GroupNode] = {}
        self._order: list[GroupNode] = []
        self._sorted = 0, Qt.SortOrder.AscendingOrder

    @property
    def groups(self) -> list[GroupNode]:
        """Return the rows of pooled runs as shown."""
        return self._order

    def clear(self, by: str = "") -> None:
        """Forget all runs; rows are kept apart by prompt or seed from now on if `by` says so."""
        self.beginResetModel()
        self._account, self._by, self._nodes, self._order = Account(by), by, {}, []
        self.endResetModel()

    def add(self, runs: Iterable[Brief]) -> None:
        """Add runs; figures of groups are brought up to date by `refresh`, which is for the caller to time."""
        for run in runs:
            ratio = self._account.speedup_of(run)
            group = self._account.add(run)
            if group not in self._nodes:
                self._add_group(group)
            node = self._nodes[group]
            row = len(node.runs)
            self.beginInsertRows(self._index_of(node), row, row)
            node.runs.append(RunNode(node, run, cells(group, single(run, ratio), run)))
            self.endInsertRows()

    def refresh(self) -> None:
        """Compute the figures of all groups anew and put the rows in order."""
        for node in self._order:
            node.figures = self._account.figures(node.group)
            node.values = cells(node.group, node.figures)
        self.sort(*self._sorted)
        if self._order:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._order) - 1, len(COLUMNS) - 1))

    def values(self, column: str) -> set[Any]:
        """Return the different values of a column over all drafting groups, or over all if none drafts."""
        nodes = [n for n in self._order if n.figures.k] or self._order
        return {n.values[column] for n in nodes}

    # --- Qt ---

    def index(self, row: int, column: int, parent: QModelIndex | None = None) -> QModelIndex:
        """Return the index of a cell."""
        nodes = self._order if parent is None or not parent.isValid() else parent.internalPointer().runs
        inside = 0 <= row < len(nodes) and 0 <= column < len(COLUMNS)
        return self.createIndex(row, column, nodes[row]) if inside else QModelIndex()

    def parent(self, index: QModelIndex) -> QModelIndex:
        """Return the group of a run."""
        node = index.internalPointer() if index.isValid() else None
        return self._index_of(node.parent) if isinstance(node, RunNode) else QModelIndex()

    def rowCount(self, parent: QModelIndex | None = None) -> int:
        """Return how many groups there are, or runs in one."""
        if parent is None or not parent.isValid():
            return len(self._order)
        node = parent.internalPointer()
        return len(node.runs) if isinstance(node, GroupNode) and parent.column() == 0 else 0

    def columnCount(self, parent: QModelIndex | None = None) -> int:
        """Return the number of columns."""
        return len(COLUMNS)

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows."""
        node, name = index.internalPointer(), COLUMNS[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self._title(node) if name == "row" else shown(name, node.values[name])
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(node, name)
        if role == Qt.ItemDataRole.TextAlignmentRole and name not in ("row", *SETTINGS):
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        if role == Qt.ItemDataRole.FontRole and isinstance(node, GroupNode):
            return QFont(theme.text_font(bold=name in ("row", "tokens_per_round", "speedup")))
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a column's title, or its definition as tooltip."""
        name = COLUMNS[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return self._titles()[name]
        if role == Qt.ItemDataRole.ToolTipRole:
            return sentence(name)
        if role == Qt.ItemDataRole.TextAlignmentRole and name not in ("row", *SETTINGS):
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Put groups, and the runs in each, in the order of a column; rows without a value come last."""
        self._sorted = column, order
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        nodes = [index.internalPointer() for index in before]
        name, down = COLUMNS[column], order == Qt.SortOrder.DescendingOrder
        self._order = _sorted(self._order, name, down)
        for group in self._order:
            group.runs = _sorted(group.runs, name, down)
        places = {id(n): i for g in self._order for i, n in enumerate(g.runs)} | {
            id(n): i for i, n in enumerate(self._order)
        }
        after = [self.createIndex(places[id(n)], i.column(), n) for n, i in zip(nodes, before, strict=True)]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    # --- parts ---

    def _add_group(self, group: Group) -> None:
        row = len(self._order)
        figures = self._account.figures(group)
        self.beginInsertRows(QModelIndex(), row, row)
        self._nodes[group] = node = GroupNode(group, figures, values=cells(group, figures))
        self._order.append(node)
        self.endInsertRows()

    def _index_of(self, node: GroupNode) -> QModelIndex:
        return self.createIndex(self._order.index(node), 0, node)

    def _title(self, node: GroupNode | RunNode) -> str:
        v = node.values
        k = self.tr("plain") if not v["k"] else self.tr("k = {k}").format(k=v["k"])
        seed, prompt = v["seed"], v["prompt"]
        if isinstance(node, RunNode):  # what its group has in common stands in the group's row
            shared = node.parent.values
            k, seed, prompt = "", *(v[name] if shared[name] is None else None for name in ("seed", "prompt"))
        parts = [k, seed is not None and self.tr("seed {s}").format(s=seed), prompt is not None and opening(prompt)]
        parts += self._untold(node) if isinstance(node, GroupNode) else []
        return " · ".join(part for part in parts if part)

    def _untold(self, node: GroupNode) -> list[str]:
        """Return what tells this row from others and has no column: the budget and the filters."""
        families, told = [n.group[0] for n in self._order], []
        mine, s = node.group[0], node.group[0].sampling
        if len({f.max_new_tokens for f in families}) > 1:
            told.append(self.tr("{n} tokens").format(n=mine.max_new_tokens))
        filters = {"top_k": f"top-k {s.top_k}", "top_p": f"top-p {s.top_p:g}", "min_p": f"min-p {s.min_p:g}"}
        return told + [t for name, t in filters.items() if len({getattr(f.sampling, name) for f in families}) > 1]

    def _tip(self, node: GroupNode | RunNode, name: str) -> str:
        v, extra = node.values, ""
        if name == "row":
            return self.tr("{n} runs pooled").format(n=v["runs"]) if isinstance(node, GroupNode) else v["prompt"]
        if name == "tokens_per_round" and v["interval_low"] is not None:
            ends = shown(name, v["interval_low"]), shown(name, v["interval_high"])
            extra = self.tr("95 % interval over runs: {a} to {b}.").format(a=ends[0], b=ends[1])
        if name == "correlated" and v["rho"] is not None:
            extra = self.tr("rho = {r}.").format(r=prob(v["rho"]))
        if name == "speedup" and v["speedup"] is not None and v["runs"] > 1:
            ends = shown(name, v["speedup_low"]), shown(name, v["speedup_high"])
            extra = self.tr("Lowest and highest run: {a} and {b}.").format(a=ends[0], b=ends[1])
        return f"{sentence(name)} {extra}".strip()

    def _titles(self) -> dict[str, str]:
        return {
            "row": self.tr("runs of"), "models": self.tr("models"), "temperature": self.tr("T"),
            "source": self.tr("draft"), "rule": self.tr("rule"), "runs": self.tr("runs"), "tokens": self.tr("tokens"),
            "rounds": self.tr("rounds"), "tokens_per_round": self.tr("tokens/round"), "formula": self.tr("formula"),
            "correlated": self.tr("correlated"), "alpha": self.tr("alpha"), "tokens_per_second": self.tr("tokens/s"),
            "speedup": self.tr("speedup"), "predicted": self.tr("predicted"), "stop": self.tr("ended by"),
        }  # fmt: skip


def _sorted(nodes: list[Any], name: str, down: bool) -> list[Any]:
    if name == "row":
        return sorted(nodes, key=_place, reverse=down)
    with_value = [n for n in nodes if n.values[name] is not None]
    without = [n for n in nodes if n.values[name] is None]
    return [*sorted(with_value, key=lambda n: n.values[name], reverse=down), *without]


def _place(node: GroupNode | RunNode) -> tuple[Any, ...]:
    return (node.run.prompt.text, node.run.setting.seed) if isinstance(node, RunNode) else in_order(node.group)
