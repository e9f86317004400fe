"""What this machine's memory and arithmetic can do, and what the loaded target asks of them per token.

Knows how to move and multiply large arrays and to count a model's weights. Does not know decoding.

Two measurements of the same ceiling, because neither is right everywhere: a copy that no cache can hold gives the
memory's own speed; a matrix-vector product of the size of the weights gives what a pass can hope for, and is faster
than memory where the weights fit into a cache.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulator.clocks import Clock
from simulator.cost.roofline import Hardware, Size
from simulator.drafts.base import Checkpoint, no_checkpoint

if TYPE_CHECKING:
    from simulator.loading import Loaded

COPY_BYTES = {"cpu": 256 << 20, "other": 1 << 30}  # several times the largest cache
LEAST_PRODUCT = 1 << 20  # bytes; below this the call itself is measured
MOST_PRODUCT = 2 << 30
SQUARE = {"cpu": 1024, "other": 8192}  # rows of the square product that measures the peak
REPEATS = 12
COLUMNS = 1024


@dataclass(frozen=True, slots=True)
class Machine:
    """The best of the repeats of each measurement."""

    copy: float  # bytes/s, read and written bytes counted both
    product: float  # bytes/s of the matrix in a matrix-vector product
    peak: float  # FLOP/s of a large square product
    product_bytes: int  # size of that matrix

    @property
    def bandwidth(self) -> float:
        """Return the ceiling: the larger of the two."""
        return max(self.copy, self.product)

    def hardware(self, name: str) -> Hardware:
        """Return this machine as a device of the roofline."""
        return Hardware(name, self.bandwidth, self.peak, "measured here: copy, matrix-vector and square product")


def measure_machine(
    device: str, dtype: str, weight_bytes: float, clock: Clock, checkpoint: Checkpoint = no_checkpoint
) -> Generator[float, None, Machine]:
    """Measure copy, product of `weight_bytes` and peak on the device; yield the done fraction, return the figures.

    The first repeat of each warms up and is not counted. Raise whatever torch raises where the memory is too small.
    """
    import torch

    options: dict[str, Any] = {"device": device, "dtype": getattr(torch, dtype)}
    kind = "cpu" if device.startswith("cpu") else "other"
    with torch.inference_mode():
        copy = yield from _copy(COPY_BYTES[kind], options, clock, checkpoint)
        product, size = yield from _product(weight_bytes, options, clock, checkpoint)
        peak = yield from _peak(SQUARE[kind], options, clock, checkpoint)
    return Machine(copy, product, peak, size)


def _copy(
    size: int, options: dict[str, Any], clock: Clock, checkpoint: Checkpoint
) -> Generator[float, None, float]:  # fmt: skip
    """Return the bytes/s of a copy of so many bytes, each read once and written once."""
    import torch

    one = torch.ones(size // options["dtype"].itemsize, **options)
    two = torch.empty_like(one)
    return 2 * size / (yield from _best(lambda: two.copy_(one), clock, checkpoint, 0.0))


def _product(
    weight_bytes: float, options: dict[str, Any], clock: Clock, checkpoint: Checkpoint
) -> Generator[float, None, tuple[float, int]]:
    """Return the bytes/s of a matrix-vector product about the size of the weights, and the size of its matrix."""
    import torch

    row = COLUMNS * options["dtype"].itemsize
    rows = round(min(max(weight_bytes, LEAST_PRODUCT), MOST_PRODUCT) / row)
    matrix, vector = torch.ones(rows, COLUMNS, **options), torch.ones(COLUMNS, **options)
    seconds = yield from _best(lambda: matrix @ vector, clock, checkpoint, 1 / 3)
    return rows * row / seconds, rows * row


def _peak(n: int, options: dict[str, Any], clock: Clock, checkpoint: Checkpoint) -> Generator[float, None, float]:
    """Return the FLOP/s of a product of two n x n matrices, 2 n^3 operations."""
    import torch

    square = torch.ones(n, n, **options)
    return 2 * n**3 / (yield from _best(lambda: square @ square, clock, checkpoint, 2 / 3))


def _best(act: Callable[[], Any], clock: Clock, checkpoint: Checkpoint, done: float) -> Generator[float, None, float]:
    """Return the shortest of the repeats in seconds, yielding how far the whole measurement is."""
    times = []
    for i in range(REPEATS + 1):
        checkpoint()
        start = clock()
        act()
        times.append(clock() - start)
        yield done + (i + 1) / (REPEATS + 1) / 3
    return min(times[1:])


def size_of(loaded: Loaded) -> Size | None:
    """Return what the loaded target reads and computes per token; None for a model that is no network.

    Every weight counts once, but of an untied input table, of which one row is read, nothing, and of experts only
    the share that a token uses. Layers without full attention are counted as if they had it.
    """
    from simulator.models.llama import LlamaDecoder

    model = loaded.model
    if isinstance(model, LlamaDecoder):  # transformers' own would have to be loaded for this
        config, read = model.config, float(model.read_parameters)
    elif (whole := getattr(model, "model", None)) is not None:
        config, read = whole.config.get_text_config(decoder=True), _read_parameters(whole)
    else:
        return None
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    return Size(loaded.entry.name, read, 2 * layers * kv_heads * head_dim, layers * heads * head_dim)


def _read_parameters(model: Any) -> float:
    config = model.config.get_text_config(decoder=True)
    experts = getattr(config, "num_experts", None) or getattr(config, "num_local_experts", None) or 0
    share = (getattr(config, "num_experts_per_tok", None) or experts) / experts if experts else 1.0
    table, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    total = 0.0
    for name, weight in model.named_parameters():
        if weight is not table or table is head:
            total += weight.numel() * (share if ".experts." in name else 1.0)
    return total
