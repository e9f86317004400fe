"""The Cost page's sentences and big numbers: verdict, roofline, what each figure means.

Knows: how a cost is said in words. Does not know: widgets, or how anything was measured.
"""

from __future__ import annotations

import math
from dataclasses import replace

from PySide6.QtCore import QCoreApplication

from simulator.cost.machine import MachineCost
from simulator.cost.roofline import MOST_BATCH, Setting, break_even_batch, free_batch, one_pass
from simulator.cost.verdict import Verdict
from simulator.cost.waterfall import Waterfall
from simulator.loading import Pair
from simulator.measure import Sweep
from simulator.theory.tokens_per_round import expected_tokens
from ui.widgets.digits import pair as told_apart
from ui.widgets.digits import prob
from ui.widgets.figures import Figure

translate = QCoreApplication.translate
SELDOM = 0.9  # share of rounds that draft, below which the formula's speedups, which draft in each, mislead
BUSY = 0.1  # unexplained rest / speedup, above which a measurement is worth repeating
LEAST_GAIN = 0.005  # of the speedup: a lever that brings less is none


def sentence(v: Verdict) -> str:
    """Return the verdict, why, and what would have to change."""
    costs = translate("Cost", "verify costs {v} of a pass per token, a draft step {c}").format(
        v=prob(v.cost.c_verify, 2), c=prob(v.cost.c, 2)
    )
    if v.break_even is None:
        even = translate("Cost", "no alpha pays")
    else:
        text = translate("Cost", "break-even alpha is {e}, the measured one {a}")
        even = text.format(**dict(zip("ea", apart(v.break_even, v.alpha), strict=True)))
    parts = {"k": v.k, "s": speedup(v.speedup.median), "low": speedup(v.speedup.low), "high": speedup(v.speedup.high),
             "costs": costs, "even": even}  # fmt: skip
    if v.pays is None:
        text = translate("Cost", "About even: the best k, {k}, reaches {s} times plain decoding, {low} to {high} in "
                         "the repeats. Here {costs}; {even}.")  # fmt: skip
        return text.format(**parts)
    if v.pays:
        text = translate("Cost", "Speculate with k\u00a0=\u00a0{k}: {s} times plain decoding. Here {costs}; {even}.")
        return f"{text.format(**parts)} {_lever(v)}"
    text = translate("Cost", "Do not speculate here: {costs}, {even}. The best k, {k}, reaches {s} times.")
    return f"{text.format(**parts)} {_change(v)}"


def never_drafted(source: str) -> str:
    """Return what is to be said of a sweep in which no round drafted as many tokens as it should."""
    if source == "ngram":
        return translate("Cost", "Nothing was drafted: no n-gram of this text came before, so every round was a plain "
                         "one. Choose a prompt that repeats itself.")  # fmt: skip
    return translate("Cost", "Nothing can be said: no round drafted all of its k tokens, or nothing was tested.")


def no_waterfall(sweep: Sweep, k: int, source: str) -> str:
    """Return why a complete sweep has no waterfall at this draft length."""
    whole = sweep.whole
    if not whole:
        return never_drafted(source)
    if k in [p.k for p in sweep.points]:
        return translate(
            "Cost", "No round drafted all of k = {k} tokens, so nothing is known of what they cost."
        ).format(k=k)
    text = translate("Cost", "k = {k} was not measured; choose one from {low} to {high}.")
    return text.format(k=k, low=min(whole), high=max(whole))


def apart(a: float, b: float) -> tuple[str, str]:
    """Write two numbers with two digits, with more where it takes them to tell the two apart."""
    two = prob(a, 2), prob(b, 2)
    return two if two[0] != two[1] or a == b else told_apart(a, b)


def speedup(ratio: float) -> str:
    """Write a speedup with two decimals, with a third where two would turn it into an even 1."""
    return f"{ratio:.3f}" if ratio != 1 and abs(ratio - 1) < 0.005 else f"{ratio:.2f}"


def _lever(v: Verdict) -> str:
    """Return which cost, were it gone, would bring most."""
    if v.drafted < SELDOM:
        text = translate("Cost", "Only {x} of the rounds found anything to draft: a text that repeats itself more pays "
                         "more.")  # fmt: skip
        return text.format(x=f"{v.drafted:.0%}")
    if not v.promised[0]:
        if v.tokens > expected_tokens(v.alpha, v.k):
            return translate("Cost", "By the formula with the mean alpha it should not pay: acceptance comes in "
                             "streaks, which brings more tokens a round.")  # fmt: skip
        return translate("Cost", "By the formula it should not pay: the measurement is noisy, measure again.")
    name, (k, speed) = max(v.levers.items(), key=lambda item: item[1][1])
    if speed <= v.promised[1] * (1 + LEAST_GAIN):
        return translate("Cost", "No cost is left whose end would bring more.")
    names = {
        "c": translate("Cost", "free drafting"), "c_verify": translate("Cost", "free verifying"),
        "fixed": translate("Cost", "no fixed cost"),
    }  # fmt: skip
    text = translate("Cost", "The largest lever is {name}: by the formula {s:.2f} instead of {now:.2f} times, at "
                     "k\u00a0=\u00a0{k}.")  # fmt: skip
    return text.format(name=names[name], s=speed, now=v.promised[1], k=k)


def _change(v: Verdict) -> str:
    """Return what would have to change for some k to pay by the formula."""
    if v.promised[0]:
        text = translate("Cost", "By the formula it should pay, {s} times at k\u00a0=\u00a0{k}: measure again on a "
                         "quiet machine.")  # fmt: skip
        return text.format(s=speedup(v.promised[1]), k=v.promised[0])
    most, c = v.ceilings, v.cost
    alpha = translate("Cost", ", or with a larger alpha") if v.alpha < (v.break_even or 0.0) else ""
    if most["c"] > 0:
        text = translate("Cost", "It would pay with c below {c}{alpha}.")
        return text.format(c=apart(most["c"], c.c)[0], alpha=alpha)
    free = translate("Cost", "At this alpha not even a free draft would pay")
    if most["c_verify"] > 0:
        text = translate("Cost", "{free}: it takes c_verify below {x}{alpha}.")
        return text.format(free=free, x=apart(most["c_verify"], c.c_verify)[0], alpha=alpha)
    if most["fixed"] > 0:
        text = translate("Cost", "{free}: it takes a fixed cost below {x} of a pass (here {now}){alpha}.")
        x, now = apart(most["fixed"], c.fixed)
        return text.format(free=free, x=x, now=now, alpha=alpha)
    if alpha:
        return translate("Cost", "{free}, nor free verifying: it takes a larger alpha.").format(free=free)
    return translate("Cost", "{free}, nor free verifying, nor a larger alpha: all costs are too high.").format(
        free=free
    )


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
        return first + " " + translate("Cost", "No batch up to {n:,} makes drafting slower than plain "
                                         "decoding.").format(n=MOST_BATCH)  # fmt: skip
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
                         "and fixed cost do not add up to. Above {x:.0%} the machine was busy with something else: "
                         "measure again.").format(x=BUSY),
               "extra" if fall and fall.rest_share > BUSY else "text"),
    ]  # fmt: skip


def conditions(found: MachineCost | None, pair: Pair | None) -> str:
    """Return what the passes were timed with."""
    if found is None or pair is None:
        return ""
    text = translate("Cost", "Passes behind {n} tokens on {d}, {t}; medians and the middle half.")
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
    """Write a time in s, ms or µs, whichever takes fewest zeros."""
    if seconds >= 1:
        return f"{seconds:,.0f} s" if seconds >= 1000 else f"{seconds:.3g} s"
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-4 else f"{1e6 * seconds:.3g} µs"


def _bytes(count: float) -> str:
    """Write a number of bytes in MB, GB or TB."""
    if count >= 1e12:
        return f"{count / 1e12:,.0f} TB" if count >= 1e15 else f"{count / 1e12:.3g} TB"
    return f"{count / 1e9:.3g} GB" if count >= 1e9 else f"{count / 1e6:.3g} MB"
