"""The sentences of the pair dialog: how a model would serve, alone and as a draft, and what a pair needs.

Knows: entries, diagnoses, bytes. Does not know widgets.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from simulator.catalog import Entry
from simulator.local.hub import readable
from simulator.text.glyphs import one_line
from simulator.text.vocabulary import Diagnosis
from ui.widgets.model_rows import Verdict

COMPATIBLE, BY_CONSENT, PENDING, OTHER, TOO_LARGE, UNREADABLE = range(6)  # ranks of drafts, the best first


def tr(text: str) -> str:
    """Translate, outside a widget."""
    return QCoreApplication.translate("PairDialog", text)


def target_verdict(entry: Entry, needed: int | None, free: int | None) -> Verdict:
    """Say whether a model can be the target."""
    if entry.problem:
        return _refused(entry)
    return _too_large(entry, needed, free) or Verdict(tr("usable"), rank=(COMPATIBLE,))


def draft_verdict(
    entry: Entry, target: Entry | None, found: Diagnosis | None, needed: int | None, free: int | None
) -> Verdict:
    """Say whether a model can draft for the target; `found` is None until the vocabularies were compared."""
    if entry.problem:
        return _refused(entry)
    if target is None or target.problem:
        return Verdict(tr("usable"), rank=(PENDING,))
    large = _too_large(entry, needed, free)
    if large:
        return large
    size, order = size_words(entry, target), _order(entry, target)
    if found is None:
        return Verdict(f"{size} · " + tr("comparing vocabularies …"), rank=(PENDING, *order))
    if not found.usable:
        return Verdict(kind_words(found), found.sentence, usable=False, rank=(OTHER, *order))
    rank = BY_CONSENT if found.needs_consent else COMPATIBLE
    return Verdict(f"{size} · {kind_words(found)}", found.sentence, rank=(rank, *order))


def kind_words(found: Diagnosis) -> str:
    """Return what came of comparing two vocabularies in a few words."""
    return {
        "identical": tr("same vocabulary"),
        "padded": tr("same tokens, padded"),
        "few": tr("{n} ids differ, asks first"),
        "reduced": tr("drafts a part of the vocabulary"),
        "different": tr("other vocabulary: {n} ids differ"),
        "unknown": found.sentence,
    }[found.kind].format(n=f"{found.differing:,}")


def size_words(draft: Entry, target: Entry) -> str:
    """Return how much smaller the draft is."""
    if draft.path == target.path:
        return tr("the target itself")
    ratio = size_ratio(draft, target)
    if ratio is None:
        return tr("size unknown")
    if 0.95 < ratio < 1.05:
        return tr("as large")
    if ratio > 1:
        return tr("{x} × smaller").format(x=_figure(ratio))
    return tr("{x} × larger").format(x=_figure(1 / ratio))


def size_ratio(draft: Entry, target: Entry) -> float | None:
    """Return target parameters / draft parameters, None where one is not known."""
    return target.parameters / draft.parameters if draft.parameters and target.parameters else None


def shortage(name: str, needed: int | None, free: int | None) -> str:
    """Return the sentence that the memory is too small, or "" where it is not, or nobody knows."""
    if needed is None or free is None or needed <= free:
        return ""
    text = tr("{name} needs about {needed}, and {free} are free: choose a smaller number format or a smaller model.")
    return text.format(name=name, needed=readable(needed), free=readable(free))


def pair_sentence(target: Entry, draft: Entry | None, found: Diagnosis | None, memory: str, left: int) -> str:
    """Say what the chosen pair is, whole; `left`: drafts still to be compared."""
    if draft is None:
        return tr("{target} alone, with n-gram lookup as its draft source; {memory}.").format(
            target=target.name, memory=memory
        )
    if target.problem or draft.problem:
        return f"{target.name}  ←  {draft.name}"
    size, kind = (
        size_words(draft, target),
        tr("vocabularies are being compared")
        if found is None
        else {
            "identical": tr("the vocabularies are identical"),
            "padded": tr("the vocabularies are the same, one padded"),
            "few": tr("the vocabularies differ in {n} ids"),
            "reduced": tr("the draft knows a part of the target's vocabulary"),
            "different": tr("the vocabularies are different"),
            "unknown": tr("the vocabularies could not be compared"),
        }[found.kind].format(n=f"{found.differing:,}"),
    )
    is_ = tr("the draft is") if draft.path != target.path else tr("the draft is the same model:")
    more = tr("  Comparing {n} more …").format(n=left) if left else ""
    return f"{target.name}  ←  {draft.name}:  {is_} {size}; {kind}; {memory}.{more}"


def memory_words(parts: dict[str, int | None], free: dict[str, int | None]) -> str:
    """Return what is needed of what is free, device by device."""
    said = []
    for device, needed in parts.items():
        have = free.get(device)
        where = "" if len(parts) == 1 else tr(" on {device}").format(device=device)
        if needed is None:
            said.append(tr("memory needed is not known") + where)
        elif have is None:
            said.append(tr("needs {needed}").format(needed=readable(needed)) + where)
        else:
            text = tr("needs {needed} of {free} free")
            said.append(text.format(needed=readable(needed), free=readable(have)) + where)
    return ", ".join(said)


def _refused(entry: Entry) -> Verdict:
    place = one_line(str(entry.path))
    words = (entry.problem or "").replace(f"{place} ", "").replace(f"{place}/", "").rstrip(".")
    return Verdict(words, entry.problem or "", usable=False, rank=(UNREADABLE,))


def _too_large(entry: Entry, needed: int | None, free: int | None) -> Verdict | None:
    sentence = shortage(entry.name, needed, free)
    if not sentence:
        return None
    words = tr("needs {needed}, {free} free").format(needed=readable(needed or 0), free=readable(free or 0))
    return Verdict(words, sentence, usable=False, rank=(TOO_LARGE,))


def _order(draft: Entry, target: Entry) -> tuple[float, float]:
    """Order drafts of one kind: smaller than the target first, by ratio; unknown sizes last."""
    ratio = size_ratio(draft, target)
    if ratio is None:
        return 2.0, 0.0
    return (0.0 if ratio >= 1.05 else 1.0), -ratio


def _figure(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 99.5 else f"{ratio:.3g}"
