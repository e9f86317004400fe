"""What a draft reads for each token of the target's text, where its own vocabulary differs.

Knows two vocabularies as bytes by id. Does not know models or probabilities: what a draft is fed shapes its guesses
and nothing else, the emitted law is p whatever it reads. So a token that the draft lacks is replaced, one for one, by
the draft's token with the longest ending in common: positions stay those of the text, and the newest letters count.
"""

from __future__ import annotations

import numpy as np

from simulator.text.tokens import Ids, Tokens


def by_id(ours: Tokens, theirs: Tokens, rows: int, readable: int) -> Ids:
    """Return [rows of the target] for a draft with the target's ids: each id as it is where both have the same token.

    `readable`: rows of the draft's embedding. A draft without a tokenizer (`theirs` empty) is taken at its word.
    """
    feed = np.arange(rows)
    feed[readable:] = -1
    if theirs:
        feed[[i for i in ours.keys() | theirs.keys() if i < rows and ours.get(i) != theirs.get(i)]] = -1
    return _filled(feed, ours, {raw: i for i, raw in theirs.items() if i < readable})


def by_map(ours: Tokens, to_target: Ids, rows: int) -> Ids:
    """Return [rows of the target] for a draft with ids of its own: each id's draft row, by the map turned round."""
    feed = np.full(rows, -1)
    named = np.flatnonzero(to_target >= 0)
    feed[to_target[named]] = named
    pairs = zip(to_target[named].tolist(), named.tolist(), strict=True)
    return _filled(feed, ours, {ours[t]: j for t, j in pairs if t in ours})


def _filled(feed: Ids, ours: Tokens, spelled: dict[bytes, int]) -> Ids:
    """Fill the gaps by the longest common ending; -1 stays where there is none."""
    for token_id in np.flatnonzero(feed < 0).tolist():
        raw = ours.get(token_id, b"")
        endings = (raw[i:] for i in range(len(raw)))
        feed[token_id] = next((spelled[end] for end in endings if end in spelled), -1)
    return feed
