"""The Cost page's sentences and big numbers: verdict, roofline, what each figure means.

Knows: how a cost is said in words. Does not know: widgets, or how anything was measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from PySide6.QtCore import QCoreApplication

from simulator.cost.machine import MachineCost
from simulator.cost.roofline import Setting, break_even_batch, free_batch, one_pass
from simulator.cost.waterfall import Waterfall
from simulator.loading import Pair
from simulator.measure import Sweep
from simulator.round_cost import Cost
from simulator.theory import best_k, break_even_alpha
from ui.widgets.digits import prob
from ui.widgets.figures import Figure

translate = QCoreApplication.translate
K_MAX = 16


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether drafting pays here, from measured points and the costs fitted to them."""

    pays: bool
    k: int  # the fastest measured draft length of at least 1
    speedup: float  # measured there
    alpha: float
    cost: Cost
    break_even: float | None  # the smallest alpha at which some k pays; None: none does


def verdict(sweep: Sweep | None) -> Verdict | None:
    """Return the verdict of a complete sweep with a known alpha; None otherwise."""
    alpha = sweep.figures.alpha if sweep and sweep.figures else None
    drafting = [p for p in sweep.points if p.k] if sweep else []
    if sweep is None or sweep.cost is None or alpha is None or not drafting:
        return None
    best, c = max(drafting, key=lambda p: p.speedup.median), sweep.cost
    evens = [break_even_alpha(c.c, c.c_verify, c.fixed, k) for k in range(1, K_MAX + 1)]
    even = min((e for e in evens if e is not None), default=None)
    return Verdict(best.speedup.median > 1, best.k, best.speedup.median, alpha, c, even)


def sentence(v: Verdict) -> str:
    """Return the verdict, why, and what would have to change."""
    costs = translate("Cost", "verify costs {v} of a pass per token, a draft step {c}").format(
        v=prob(v.cost.c_verify, 2), c=prob(v.cost.c, 2)
    )
    if v.break_even is None:
        even = translate("Cost", "no alpha pays")
    else:
        even = translate("Cost", "break-even alpha is {e}, this pair has {a}").format(
            e=prob(v.break_even, 2), a=prob(v.alpha, 2)
        )
    if v.pays:
        text = translate(
            "Cost", "Speculate with k\u00a0=\u00a0{k}: {s:.2f} times plain decoding. Here {costs}; {even}. {lever}"
        )
        return text.format(k=v.k, s=v.speedup, costs=costs, even=even, lever=_lever(v))
    text = translate("Cost", "Do not speculate here: {costs}, {even}. The best k, {k}, reaches {s:.2f} times. {change}")
    return text.format(costs=costs, even=even, k=v.k, s=v.speedup, change=_change(v))


def _lever(v: Verdict) -> str:
    """Return which cost, were it gone, would bring most."""
    c = v.cost
    gains = {
        translate("Cost", "free drafting"): best_k(v.alpha, 0.0, c.c_verify, c.fixed, k_max=K_MAX),
        translate("Cost", "free verifying"): best_k(v.alpha, c.c, 0.0, c.fixed, k_max=K_MAX),
        translate("Cost", "no fixed cost"): best_k(v.alpha, c.c, c.c_verify, 0.0, k_max=K_MAX),
    }
    name, (k, speed) = max(gains.items(), key=lambda item: item[1][1])
    if k == 0:
        return translate("Cost", "By the formula it should not: the measurement is noisy, measure again.")
    return translate("Cost", "The largest lever is {name}: by the formula {s:.2f} times at k\u00a0=\u00a0{k}.").format(
        name=name, s=speed, k=k
    )


def _change(v: Verdict) -> str:
    """Return what would have to change for one drafted token to pay: c + c_verify + fixed < alpha."""
    room = v.alpha - v.cost.c_verify - v.cost.fixed
    if room > 0 and room < v.cost.c:
        return translate("Cost", "It would pay with c below {c}, or with a larger alpha.").format(c=prob(room, 2))
    if room <= 0:
        return translate("Cost", "At this alpha not even a free draft would pay: verifying must get cheaper.")
    return translate("Cost", "By the formula it should pay a little: the difference is within the noise.")


def roofline_sentence(setting: Setting, k: int, alpha: float, c: float) -> str:
    """Return whether verifying is free in this setting, up to which batch, and from which on drafting loses."""
    single, verify = one_pass(setting, 1), one_pass(setting, k + 1)
    text = translate("Cost", "At batch {b:,} a pass over {n} positions per sequence reads {size} in {read} and "
                     "computes for {work}: verifying {is_free}.")  # fmt: skip
    is_free = translate("Cost", "is free")
    if verify.seconds > single.seconds * (1 + 1e-9):
        is_free = translate("Cost", "costs {x:.2f} plain passes").format(x=verify.seconds / single.seconds)
    said = text.format(n=k + 1, b=setting.batch, size=_bytes(verify.bytes), read=_time(verify.reading_s),
                       work=_time(verify.computing_s), is_free=is_free)  # fmt: skip
    return f"{said} {_limits(replace(setting, batch=1), k, alpha, c)}"


def _limits(setting: Setting, k: int, alpha: float, c: float) -> str:
    free, even = free_batch(setting, k), break_even_batch(setting, k, alpha, c)
    if free == math.inf:
        first = translate("Cost", "It stays free at every batch: reading the contexts takes longer than computing.")
    elif free < 1:
        first = translate("Cost", "It is not free at any batch here.")
    else:
        first = translate("Cost", "It is free up to batch {n:,}.").format(n=math.floor(free))
    if even is None:
        return first + " " + translate("Cost", "No batch makes drafting slower than plain decoding.")
    if even == 1:
        return first + " " + translate("Cost", "Drafting is slower than plain decoding at every batch.")
    return first + " " + translate("Cost", "From batch {n:,} on drafting is slower than plain decoding.").format(n=even)


def figures(v: Verdict | None, found: MachineCost | None, fall: Waterfall | None) -> list[Figure]:
    """Return the page's big numbers, a dash for what was not measured."""
    bend = found.knee if found else None
    behind = bend.slope_ms / found.times[0].ms.median if bend and found and found.times[0].ms.median else None
    share = found.bandwidth_fraction if found else None
    return [
        Figure(prob(v.cost.c_verify, 2) if v else "–", translate("Cost", "c_verify, passes per token"),
               translate("Cost", "Extra time of each further position in a round, in plain steps: the slope of all of "
                         "a round but its draft, through the measured k. The formula and the sliders use it.")),
        Figure(prob(v.break_even, 2) if v and v.break_even is not None else "–",
               translate("Cost", "break-even alpha"),
               translate("Cost", "The smallest alpha at which some k is no slower than plain decoding, with the "
                         "measured c, c_verify and fixed cost. At k = 1 it is their sum."),
               ("both" if v.break_even is not None and v.alpha > v.break_even else "excess") if v else "text"),
        Figure(_knee(found), translate("Cost", "knee, tokens in a pass"),
               translate("Cost", "Up to this width a pass takes as long as one over a single token; behind it each "
                         "token costs {s} of a pass. Least squares of a flat line and a slope.").format(
                             s=prob(behind, 2))),
        Figure(f"{found.machine.bandwidth / 1e9:.3g}" if found else "–", translate("Cost", "GB/s, measured"),
               _ceiling(found)),
        Figure(f"{share:.0%}" if share is not None else "–", translate("Cost", "of it used by a plain pass"),
               translate("Cost", "Bytes that a pass over one token reads (weights, keys and values) / its time / the "
                         "measured bandwidth. What is missing to 100 % is overhead and arithmetic.")),
        Figure(f"{fall.rest_share:.1%}" if fall else "–", translate("Cost", "unexplained rest"),
               translate("Cost", "The waterfall's rest / the measured speedup: what tokens per round, draft, verify "
                         "and fixed cost do not add up to.")),
    ]  # fmt: skip


def conditions(found: MachineCost | None, pair: Pair | None) -> str:
    """Return what the passes were timed with."""
    if found is None or pair is None:
        return ""
    text = translate("Cost", "Passes behind {n} tokens on {d}, {t}; medians, lowest and highest.")
    return text.format(n=found.context, d=pair.target.device, t=pair.target.dtype)


def _knee(found: MachineCost | None) -> str:
    if found is None or found.knee is None:
        return "–"
    if not found.knee.slope_ms:
        return f"> {found.times[-1].width}"
    return f"{found.knee.width:.0f}"


def _ceiling(found: MachineCost | None) -> str:
    text = translate("Cost", "The larger of a large copy (read and written bytes) and a matrix-vector product of the "
                     "size of the target's weights.")  # fmt: skip
    if found is None:
        return text
    m = found.machine
    here = translate("Cost", "Here: copy {c:.3g}, product of {s:.3g} MB {p:.3g} GB/s; arithmetic {f:.3g} GFLOP/s.")
    return f"{text} {here.format(c=m.copy / 1e9, p=m.product / 1e9, s=m.product_bytes / 1e6, f=m.peak / 1e9)}"


def _time(seconds: float) -> str:
    """Write a time in ms, or in µs where that takes fewer zeros."""
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-4 else f"{1e6 * seconds:.3g} µs"


def _bytes(count: float) -> str:
    return f"{count / 1e9:.3g} GB" if count >= 1e9 else f"{count / 1e6:.3g} MB"
