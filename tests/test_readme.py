"""README and tree agree: `python -m tests.test_readme` writes the tree section from the modules' own first lines."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
FOLDERS = [
    folder
    for top in ("simulator", "ui")
    for folder in (top, *sorted(f"{top}/{inner.parent.name}" for inner in (ROOT / top).glob("*/__init__.py")))
]
WIDTH = 100  # characters of a phrase; a longer sentence ends at its first colon
SECTION = re.compile(r"## The tree\n.*?(?=\n## )", re.DOTALL)


def phrase(file: Path) -> str:
    """Return the first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    first = " ".join(text.split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.?!])\s", first)[0].rstrip(".")
    return sentence if len(sentence) <= WIDTH else re.split(r"[:;]\s", sentence)[0]


def tree() -> str:
    """Return the section: every module of the program with its phrase."""
    lines = ["## The tree", "```", f"{'main.py':28}{phrase(ROOT / 'main.py')}"]
    for folder in FOLDERS:
        lines.append(f"{folder + '/':28}{phrase(ROOT / folder / '__init__.py')}")
        files = sorted(f for f in (ROOT / folder).glob("*.py") if f.name != "__init__.py")
        lines += [f"  {file.name:26}{phrase(file)}" for file in files]
    lines += [
        f"{'models_cache/':28}The bundled models; a model folder dropped here is found",
        f"  {'train.py':26}{phrase(ROOT / 'models_cache' / 'train.py')}",
        f"  {'cards.py':26}{phrase(ROOT / 'models_cache' / 'cards.py')}",
        f"{'tests/':28}Mirrors simulator/ and ui/",
        "```",
    ]
    return "\n".join(lines) + "\n"


def test_the_readmes_tree_is_the_tree():
    assert SECTION.search(README.read_text("utf-8"))[0] == tree()


def test_every_module_says_what_it_is():
    files = [f for folder in FOLDERS for f in (ROOT / folder).glob("*.py")]
    assert [f.name for f in files if not phrase(f)] == []


def test_the_readme_opens_with_the_two_commands():
    commands = re.findall(r"```\n(.*?)\n```", README.read_text("utf-8"), re.DOTALL)
    assert commands[:2] == ["pip install -e . && python main.py", "pip install -e '.[test]' && python -m pytest"]


def test_pictures_named_in_the_readme_exist():
    names = re.findall(r"!\[[^]]*\]\(([^)]+)\)", README.read_text("utf-8"))
    assert names
    assert [n for n in names if not (ROOT / n).is_file()] == []


if __name__ == "__main__":
    README.write_text(SECTION.sub(lambda _: tree(), README.read_text("utf-8")), "utf-8")
