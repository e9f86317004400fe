"""SpecScope's entry point: the window, or a command without one. Imports nothing heavy itself."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from simulator.errors import UserError
from simulator.parameters import PARAMETERS, Parameter


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one sentence on stderr and exit status 2."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Raise `UserError` with argparse's message and the way to the help."""
        raise UserError(f"{message[0].upper()}{message[1:]}. See '{self.prog} --help'.")


def build_parser() -> Parser:
    """Return the parser of all commands; each number's limits and help come from `simulator.parameters`."""
    parser = Parser(prog="python main.py", description="Understand, show and measure speculative decoding.")
    parser.add_argument("--theme", choices=["dark", "light"], default=None, help="colours of the window")
    commands = parser.add_subparsers(dest="command", parser_class=Parser)

    run = commands.add_parser("run", help="decode without a window; CSV, trace, JSON")
    add_pair(run)
    run.add_argument("--prompt", action="append", default=[], help="text to go on from; can be repeated")
    run.add_argument("--prompt-file", action="append", default=[], metavar="F", help="a whole file as one prompt")
    run.add_argument("--chat", action=argparse.BooleanOptionalAction, default=None,
                     help="put each prompt into the model's chat template (default: if the model has one)")  # fmt: skip
    run.add_argument("--system", default="", metavar="TEXT", help="system prompt of the chat")
    run.add_argument("--parse-special", action="store_true",
                     help="special tokens spelled in a prompt are tokens, not text; never so in a chat")  # fmt: skip
    run.add_argument("--source", default="model", help="draft source: model or ngram")
    run.add_argument("--rule", default="exact", help="acceptance rule (default exact); a wrong name lists all")
    for name in ("k", "temperature", "top_k", "top_p", "min_p", "seed", "max_new_tokens"):
        add_number(run, PARAMETERS[name])
    run.add_argument("--seeds", type=int, default=1, metavar="N", help="run seeds seed .. seed + N - 1")
    run.add_argument("--baseline", action="store_true", help="also decode plainly and report the measured speedup")
    run.add_argument("--csv", metavar="FILE", help="write every drafted and emitted token, one row each")
    run.add_argument("--trace", metavar="FILE", help="write the full trace, bars included")
    run.add_argument("--json", action="store_true", help="print one JSON object last")

    models = commands.add_parser("models", help="what is on this machine, and why an entry cannot be used")
    models.add_argument("--device", default="auto", help="the device whose free memory counts (default auto)")
    models.add_argument("--dtype", default="auto", help="the dtype that the memory is worked out for (default auto)")
    models.add_argument("--compare", nargs=2, metavar=("TARGET", "DRAFT"), help="compare two vocabularies instead")

    bench = commands.add_parser("bench", help="side-by-side speed table, last line one JSON object")
    add_pair(bench)
    bench.add_argument("--json", action="store_true", help="print the JSON line only")
    bench.add_argument("--ui", action="store_true", help="time the window instead: start-up, slider, round")
    bench.add_argument("--tokens", type=int, default=200, metavar="N", help="tokens a run (default 200)")
    bench.add_argument("--repeats", type=int, default=5, metavar="N", help="counted repeats (default 5)")

    shot = commands.add_parser("shot", help="save a picture of a page")
    shot.add_argument("--page", required=True, help="stage, exactness, acceptance, cost, race, worth, runs, or "
                      "pair for the dialog")  # fmt: skip
    shot.add_argument("--out", required=True, metavar="F.png")
    shot.add_argument("--size", default="1600x1000", metavar="WxH")
    shot.add_argument("--theme", choices=["dark", "light"], default="dark")
    shot.add_argument("--state", default="measured", help="which moment: empty, loading, ready, drafted, verified, "
                      "rejected, accepted, measured, error")  # fmt: skip
    return parser


def add_pair(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which models run where."""
    parser.add_argument("--target", default=None, help="a name from 'models', a folder, a GGUF file or a hub id in "
                        "the local cache")  # fmt: skip
    parser.add_argument("--draft", default=None, help="likewise, the smaller model")
    parser.add_argument("--device", default="auto", help="auto (cuda, else mps, else cpu), cpu, cuda:0, ...")
    parser.add_argument("--dtype", default="auto", help="auto (bfloat16 on a GPU, float32 on a CPU), float32, ...")
    for model in ("target", "draft"):
        parser.add_argument(f"--{model}-device", default=None, metavar="D", help=f"--device for the {model} alone")
        parser.add_argument(f"--{model}-dtype", default=None, metavar="T", help=f"--dtype for the {model} alone")
    parser.add_argument("--accept-differing", action="store_true", help="go on although a few entries of the "
                        "two vocabularies differ; those are never drafted")  # fmt: skip
    parser.add_argument("--compile", action="store_true", help="let torch's compiler fuse a model's small operations; "
                        "takes minutes, and changes nothing for a float32 Llama on the CPU")  # fmt: skip


def add_number(parser: argparse.ArgumentParser, p: Parameter) -> None:
    """Add the option of one declared parameter."""
    default = int(p.default) if p.integer else p.default
    parser.add_argument(
        f"--{p.name.replace('_', '-')}", type=int if p.integer else float, default=default, metavar="N" if p.integer
        else "X", help=f"{p.help} ({p.limits()}; default {default})",
    )  # fmt: skip


def has_display() -> bool:
    """Return whether a window can be shown: always but on a Unix without X or Wayland."""
    if sys.platform in ("win32", "darwin") or os.environ.get("QT_QPA_PLATFORM"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def check_system(platform: str = "") -> None:
    """Raise `UserError` where Qt would not even be imported, or would end the process: it lacks a library."""
    from ui.system_libraries import check

    check(platform)


def keep_numpy_to_one_thread() -> None:
    """Give NumPy's products one thread, before NumPy is first imported.

    They are small (large models use torch's, see `models.products`): on two threads they take longer, and where
    somebody else uses a core the threads wait for each other, a pass up to a hundred times as long.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def without_display() -> int:
    """Run the bundled pair headless, then draw the same round's Stage page on Qt's offscreen platform."""
    from simulator.commands import HEADLESS_PICTURE, without_display

    without_display()
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    check_system()
    from ui.gallery import shot

    shot("stage", HEADLESS_PICTURE, "1600x1000", "dark", "measured")
    print(f"A picture of the Stage page is in {os.path.abspath(HEADLESS_PICTURE)}.")
    return 0


def dispatch(arguments: argparse.Namespace) -> int:
    """Run the chosen command; each imports what it needs and nothing more."""
    keep_numpy_to_one_thread()
    if arguments.command == "run":
        from simulator.commands import run

        return run(arguments)
    if arguments.command == "models" and arguments.compare:
        from simulator.commands import compare

        return compare(*arguments.compare)
    if arguments.command == "models":
        from simulator.commands import models

        return models(arguments.device, arguments.dtype)
    if arguments.command == "bench" and arguments.ui:
        check_system("offscreen")
        from ui.bench import ui_bench

        return ui_bench(arguments.json)
    if arguments.command == "bench":
        from simulator.bench import run_bench

        return run_bench(arguments)
    if arguments.command == "shot":
        check_system("offscreen")
        from ui.gallery import shot

        return shot(arguments.page, arguments.out, arguments.size, arguments.theme, arguments.state)
    if not has_display():
        return without_display()
    check_system()
    from ui.app import main as window

    return window(arguments.theme)


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and dispatch; a `UserError` becomes one sentence on stderr and exit status 2."""
    try:
        return dispatch(build_parser().parse_args(argv))
    except UserError as error:
        print(f"specscope: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("specscope: stopped.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
