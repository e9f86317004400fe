"""Closed forms: acceptance of a (p, q) pair, tokens per round, speedup, best k, bounds.

Knows: p, q, alpha, c, k, and the published formulas. Does not know: models, traces, torch, Qt, randomness.

The symbols, used in the same sense everywhere:

p, q        target and draft distribution of one position, after temperature and filters.
alpha       probability that a tested draft token is accepted, in 0..1.
k           draft length: tokens drafted per round.
c           time of one draft step / time of one target step.
c_verify    extra time of each additional verified position / time of one target step.
fixed       per-round overhead / time of one target step; paid by rounds that draft (k > 0), by no other.
rho         correlation of acceptance inside one round, when alpha differs between contexts (Beta model).

Source, unless said otherwise: Leviathan, Kalman, Matias 2022 (arXiv 2211.17192), "Leviathan" below.
"""
