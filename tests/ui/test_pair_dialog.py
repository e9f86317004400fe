"""The pair dialog: what it lists, in which order, what may be opened, by keyboard alone, and how it ends."""

import threading
import time
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog

from simulator.catalog import BUNDLED, DEFAULT_DRAFT, DEFAULT_TARGET, Entry
from simulator.errors import UserError
from simulator.loading import Progress
from simulator.local import survey
from simulator.local.generation_defaults import Suggestion
from simulator.local.hub import Downloaded, Offer
from simulator.local.survey import Devices
from simulator.records import Sampling
from simulator.text.vocabulary import Diagnosis
from tests.ui.stub import loader, stub_pair
from ui.asker import Asker
from ui.pair_choice import Choice, stored_recent, with_recent
from ui.widgets.model_rows import Column, count
from ui.widgets.pair_dialog import PairDialog

HOME = Path("/models")


def entry(name: str, parameters: int | None = 1_000_000, problem: str | None = None, **other) -> Entry:
    """Return an entry of a model that lies nowhere."""
    values = {"vocab": 2048, "max_length": 1024, "dtype": "F16", "disk_bytes": 2 * (parameters or 0),
              "tokenizer_entries": 2000} | other  # fmt: skip
    return Entry(name, HOME / name, "LlamaForCausalLM", parameters, problem=problem, **values)


TARGET = entry("target", 10_000_000)
ENTRIES = [
    entry("broken", problem=f"{HOME / 'broken'} has no config.json, so it is not a transformers model folder."),
    entry("different", 100_000), entry("few", 200_000), entry("huge", 10**12), entry("larger", 50_000_000),
    entry("padded", 400_000), entry("same", 500_000), TARGET, entry("unknown", 300_000),
]  # fmt: skip
KINDS = {"padded": "padded", "few": "few", "different": "different", "unknown": "unknown"}


def diagnosis(_target: Entry, draft: Entry) -> Diagnosis:
    """Return the kind that the draft's name asks for."""
    kind = KINDS.get(draft.name, "identical")
    n = {"few": 3, "different": 1203}.get(kind, 0)
    examples = ((7, " the", "x"), (9, "a", None)) if n else ()
    return Diagnosis(kind, f"It is {kind}.", 2000, 2000, 2048, 2048, n, examples)


@pytest.fixture(autouse=True)
def cpu_only(monkeypatch):
    """Name the devices without torch, which takes a while to import."""
    monkeypatch.setattr(
        "simulator.local.survey._devices", lambda: Devices({"cpu": survey.free_bytes("cpu")}, complete=True)
    )


@pytest.fixture
def found(monkeypatch):
    """What there is to find; a test may change it."""
    there = {"entries": list(ENTRIES), "diagnose": diagnosis, "suggestion": None, "free": 30_000_000_000}
    monkeypatch.setattr("simulator.local.survey.scan", lambda recent=(): there["entries"])
    monkeypatch.setattr("simulator.local.survey.diagnose", lambda target, draft: there["diagnose"](target, draft))
    monkeypatch.setattr("simulator.local.survey.suggested_sampling", lambda _: there["suggestion"])
    monkeypatch.setattr("simulator.local.survey.free_bytes", lambda _: there["free"])
    return there


@pytest.fixture
def new_dialog(qtbot, until):
    """Show dialogs; `settle=False` does not wait for answers."""

    def make(*names, settle=True, **options) -> PairDialog:
        dialog = PairDialog(*names, **options)
        qtbot.addWidget(dialog)
        dialog.show()
        qtbot.waitExposed(dialog)
        if settle:
            until(lambda: settled(dialog))
        return dialog

    return make


def settled(dialog: PairDialog) -> bool:
    return dialog.survey.entries is not None and not dialog._askers[0].busy


def shown(picker) -> list[list[str]]:
    """Return the cells on screen, row by row."""
    model = picker.view.model()
    return [[model.index(r, c).data() for c in range(len(Column))] for r in range(model.rowCount())]


def names(picker) -> list[str]:
    return [row[Column.NAME] for row in shown(picker)]


def pick(dialog: PairDialog, target: str, draft: str | None, until) -> None:
    dialog.target.choose(HOME / target)
    dialog.target._settle()
    dialog.draft.choose(HOME / draft if draft else None)
    dialog.draft._settle()
    until(lambda: settled(dialog))


def test_the_bundled_pair_is_one_press_of_enter_away(new_dialog, qtbot):
    dialog = new_dialog(settle=False)
    qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Return)  # before anything was found
    assert dialog.result() == QDialog.DialogCode.Accepted
    assert dialog.choice == Choice(str(BUNDLED / DEFAULT_TARGET), str(BUNDLED / DEFAULT_DRAFT))


def test_the_bundled_models_are_described_and_compared(new_dialog, qtbot):
    dialog = new_dialog()
    assert dialog.target.row.name == DEFAULT_TARGET
    here = {row[Column.NAME]: row for row in shown(dialog.target)}
    row = here[DEFAULT_TARGET]
    assert row[:9] == [DEFAULT_TARGET, "usable", "Llama", "F16", "5.71 M", "2,048", "2,048", "1,024", "11 MB"]
    best = shown(dialog.draft)[1]
    assert best[:2] == [DEFAULT_DRAFT, "13.6 × smaller · same vocabulary"]
    assert "the draft is 13.6 × smaller; the vocabularies are identical; needs " in dialog.strip._sentence.text()
    qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Return)
    assert dialog.result() == QDialog.DialogCode.Accepted
    assert dialog.choice.options == {"device": "auto", "dtype": "auto"}


def test_drafts_are_sorted_by_fitness_and_say_why_not(new_dialog, found):
    dialog = new_dialog(str(TARGET.path), str(HOME / "same"))
    rows = shown(dialog.draft)
    assert [row[:2] for row in rows] == [
        ["no draft model", "n-gram lookup, no second model"],
        ["padded", "25 × smaller · same tokens, padded"],
        ["same", "20 × smaller · same vocabulary"],
        ["target", "the target itself · same vocabulary"],
        ["larger", "5 × larger · same vocabulary"],
        ["few", "50 × smaller · 3 ids differ, asks first"],
        ["different", "✗ other vocabulary: 1,203 ids differ"],
        ["unknown", "✗ It is unknown."],
        ["huge", "✗ needs 4.4 TB, 30 GB free"],
        ["broken", "✗ has no config.json, so it is not a transformers model folder"],
    ]
    assert dialog.draft.row.name == "same"
    dialog.draft.view.horizontalHeader().setSortIndicator(Column.PARAMETERS, Qt.SortOrder.DescendingOrder)
    assert names(dialog.draft)[:3] == ["no draft model", "huge", "larger"]
    assert dialog.draft.row.name == "same"


def test_the_chosen_rows_are_in_sight_among_two_hundred(new_dialog, found):
    found["entries"] = [TARGET, entry("same"), *(entry(f"a{i}") for i in range(200))]
    dialog = new_dialog(str(TARGET.path), str(HOME / "same"))
    for picker in (dialog.target, dialog.draft):
        view = picker.view
        assert view.viewport().rect().contains(view.visualRect(view.currentIndex()).center())


@pytest.mark.parametrize(
    ("target", "draft", "reason"),
    [
        ("target", "different", "It is different."), ("target", "huge", "huge needs about 4.4 TB, and 30 GB are free"),
        ("broken", "same", "/models/broken has no config.json"), ("target", "broken", "/models/broken has no config"),
    ],
)  # fmt: skip
def test_what_cannot_be_opened_says_why_and_is_not_opened(new_dialog, found, until, target, draft, reason):
    dialog = new_dialog(str(TARGET.path), str(HOME / "same"))
    assert dialog.open_button.isEnabled()
    pick(dialog, target, draft, until)
    assert not dialog.open_button.isEnabled()
    assert dialog.strip._problem.text().startswith(f"✗  {reason}")
    pick(dialog, "target", None, until)
    assert dialog.open_button.isEnabled()
    assert dialog.choice == Choice(str(TARGET.path), None, {"device": "auto", "dtype": "auto"})


def test_a_pair_that_is_too_large_together_is_not_opened(new_dialog, found):
    found["free"] = 100_000_000
    found["entries"] = [TARGET, entry("same", 9_000_000)]
    dialog = new_dialog(str(TARGET.path), str(HOME / "same"))
    assert [row[Column.MEMORY] for row in shown(dialog.target)] == ["70 MB", "74 MB"]
    assert dialog.strip._problem.text().startswith("✗  The pair needs about 144 MB, and 100 MB are free")
    assert not dialog.open_button.isEnabled()
    dialog.target._dtype.setCurrentIndex(dialog.target._dtype.findData("bfloat16"))
    assert [row[Column.MEMORY] for row in shown(dialog.draft)] == ["", "50 MB", "52 MB"]
    assert not dialog.open_button.isEnabled()
    found["free"] = 200_000_000


def test_typing_filters_and_escape_takes_that_back_first(new_dialog, found, qtbot, until):
    dialog = new_dialog(str(TARGET.path), str(HOME / "same"))
    view = dialog.draft.view
    view.setFocus()
    qtbot.keyClicks(view, "smaller pad")
    assert dialog.draft.filter.text() == "smaller pad"
    assert names(dialog.draft) == ["padded"]
    assert dialog.draft.row.name == "padded"
    qtbot.keyClick(view, Qt.Key.Key_Backspace)
    assert dialog.draft.filter.text() == "smaller pa"
    qtbot.keyClicks(view, "xx")
    assert names(dialog.draft) == []
    assert not dialog.open_button.isEnabled()
    assert "No draft is chosen" in dialog.strip._problem.text()
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert dialog.isVisible()
    assert dialog.draft.filter.text() == ""
    assert dialog.draft.row.name == "padded"
    qtbot.keyClick(view, Qt.Key.Key_Down)
    assert dialog.draft.row.name == "same"
    qtbot.keyClick(view, Qt.Key.Key_Return)
    assert dialog.result() == QDialog.DialogCode.Accepted
    assert dialog.choice.draft == str(HOME / "same")


def test_escape_without_a_filter_closes(new_dialog, found, qtbot):
    dialog = new_dialog(str(TARGET.path), str(HOME / "same"))
    qtbot.keyClick(dialog.target.view, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    assert dialog.result() == QDialog.DialogCode.Rejected


def test_differing_ids_are_agreed_to_for_each_pair_anew(new_dialog, found, until):
    dialog = new_dialog(str(TARGET.path), str(HOME / "few"))
    assert not dialog.open_button.isEnabled()
    assert dialog.strip.consent.text() == "☐  Go on: the 3 ids that differ are never drafted"
    dialog.strip.consent.click()
    assert dialog.strip.consent.text().startswith("☑  Go on:")
    assert dialog.open_button.isEnabled()
    assert dialog.choice.options["accept_differing"] is True
    pick(dialog, "target", "same", until)
    assert "accept_differing" not in dialog.choice.options
    pick(dialog, "target", "few", until)
    assert not dialog.open_button.isEnabled()


def test_each_model_has_its_device_and_number_format(new_dialog, found):
    dialog = new_dialog(str(TARGET.path), str(HOME / "same"))
    assert dialog.draft.device == dialog.draft.dtype == ""
    dialog.target._dtype.setCurrentIndex(dialog.target._dtype.findData("float16"))
    dialog.draft._dtype.setCurrentIndex(dialog.draft._dtype.findData("float32"))
    dialog.draft._device.setCurrentIndex(dialog.draft._device.findData("cpu"))
    assert dialog.choice.options == {
        "device": "auto", "dtype": "float16", "draft_device": "cpu", "draft_dtype": "float32",
    }  # fmt: skip
    memory = {row[Column.NAME]: row[Column.MEMORY] for row in shown(dialog.target)}
    assert memory["target"] == "52 MB"
    assert {row[Column.NAME]: row[Column.MEMORY] for row in shown(dialog.draft)}["target"] == "74 MB"


def test_the_sampling_that_a_folder_suggests_is_offered_and_not_taken_unasked(new_dialog, found):
    wanted = Sampling(0.6, 20, 0.95, 0.0)
    found["suggestion"] = Suggestion(wanted, "temperature 0.6, top-k 20", "SpecScope does not apply x = 1.")
    dialog = new_dialog(str(TARGET.path), str(HOME / "same"))
    assert dialog.strip.suggest.text() == "☐  Start with the target's sampling: temperature 0.6, top-k 20"
    assert dialog.strip._unapplied.text() == "SpecScope does not apply x = 1."
    assert dialog.choice.sampling is None
    dialog.strip.suggest.click()
    assert dialog.strip.suggest.text().startswith("☑  Start with")
    assert dialog.choice.sampling == wanted


def test_the_doctor_shows_sizes_rows_and_the_first_differing_ids(new_dialog, found, until):
    dialog = new_dialog(str(TARGET.path), str(HOME / "different"))
    doctor = dialog.doctor
    assert [[label.text() for label in line] for line in doctor._figures] == [
        ["2,000", "2,000"], ["2,048", "2,048"], ["1,203", "1,203"],
    ]  # fmt: skip
    cells = [doctor._examples.itemAt(i).widget().text() for i in range(doctor._examples.count())]
    assert cells == ["id", "in the target", "in the draft", "7", "' the'", "'x'", "9", "'a'", "no entry"]
    assert doctor._verdict.text() == "✗  It is different."
    pick(dialog, "target", None, until)
    assert doctor._verdict.text().startswith("Choose a target and a draft model")
    assert doctor._examples.count() == 0


def test_another_target_drops_the_questions_about_the_one_before(new_dialog, found, until):
    asked, go = [], threading.Event()

    def slow(target: Entry, draft: Entry) -> Diagnosis:
        asked.append(target.name)
        go.wait(20)
        return diagnosis(target, draft)

    found["diagnose"] = slow
    dialog = new_dialog(str(TARGET.path), str(HOME / "same"), settle=False)
    until(lambda: asked == ["target"])
    dialog.target.view.selectRow(names(dialog.target).index("larger"))
    go.set()
    until(lambda: settled(dialog))
    assert asked.count("target") == 1
    assert asked.count("larger") == 8  # itself too: all but the broken one
    assert dialog.survey.fit(TARGET, ENTRIES[0]) is None


def test_closing_waits_for_nobody_and_leaves_no_thread(found, qtbot, until):
    begun, go = threading.Event(), threading.Event()
    found["diagnose"] = lambda *pair: (begun.set(), go.wait(20), diagnosis(*pair))[-1]
    askers = Asker(), Asker()
    dialog = PairDialog(str(TARGET.path), str(HOME / "same"), askers=askers)
    qtbot.addWidget(dialog)
    dialog.show()
    until(begun.is_set)
    start = time.monotonic()
    dialog.reject()
    assert time.monotonic() - start < 2
    assert not dialog.isVisible()
    go.set()
    assert all(asker.close(20) for asker in askers)


def test_a_fault_in_the_survey_is_said_and_the_pair_can_still_be_opened(new_dialog, found, monkeypatch, until):
    monkeypatch.setattr("simulator.local.survey.scan", lambda recent: 1 / 0)
    dialog = new_dialog(settle=False)
    until(lambda: dialog.survey.problem)
    assert "ZeroDivisionError" in dialog.strip._problem.text()
    assert dialog.open_button.isEnabled()


def test_nothing_on_the_computer_is_said(new_dialog, found):
    """With models_cache gone, the dialog that could have opened another pair failed to open."""
    found["entries"] = []
    dialog = new_dialog()
    assert not dialog.open_button.isEnabled()
    assert "There is no model on this computer" in dialog.strip._problem.text()
    assert dialog.target.view.empty == dialog.strip._problem.text().removeprefix("✗  ")


def test_a_folder_that_is_added_is_chosen_and_remembered(new_dialog, found, until, tmp_path):
    dialog = new_dialog(str(TARGET.path), str(HOME / "same"), recent=["/old"])
    other = Entry("имя 模型 🦙", tmp_path, "?", None, None, None, "", 0, f"{tmp_path} has no config.json")
    found["entries"].append(other)
    dialog.take("draft", str(tmp_path))
    until(lambda: settled(dialog))
    assert dialog.draft.row.entry is other
    assert not dialog.open_button.isEnabled()
    assert dialog.remembered[:2] == [str(TARGET.path), str(tmp_path)]
    assert dialog.remembered[-1] == "/old"


def test_what_is_remembered_is_what_no_scan_finds():
    assert with_recent([BUNDLED / DEFAULT_TARGET, None, "/a", "/b"], ["/c", "/a"]) == ["/a", "/b", "/c"]
    assert len(with_recent([], [f"/{i}" for i in range(20)])) == 8


@pytest.mark.parametrize(("stored", "places"), [(None, []), ("/a", ["/a"]), (["/a", 3, ""], ["/a"]), (7, [])])
def test_damaged_settings_remember_nothing(stored, places):
    assert stored_recent(stored) == places


def test_counts_read_as_people_say_them():
    numbers = 0, 2048, 151_936, 418_272, 999_499, 999_999, 5_712_000, 30_500_000_000, None
    assert [count(n) for n in numbers] == [
        "0",
        "2,048",
        "151,936",
        "418,272",
        "999,499",
        "1 M",
        "5.71 M",
        "30.5 B",
        "–",
    ]


# --- the hub ---

OFFER = Offer("owner/name", "a" * 40, (("config.json", 1000), ("model.safetensors", 24_000_000)), 0, "mit", True)


@pytest.fixture
def hub(monkeypatch):
    """A hub that says what a test wants, on the asker's thread."""
    says = {"look_up": [OFFER], "download": [Progress("Downloading ...", 0.5)], "go": threading.Event()}
    says["go"].set()

    def telling(what):
        def ask(_, checkpoint):
            for said in says[what]:
                if isinstance(said, Exception):
                    raise said
                yield said
                while not says["go"].wait(0.01):
                    checkpoint()

        return ask

    for what in ("look_up", "download"):
        monkeypatch.setattr(f"ui.widgets.download_page.{what}", telling(what))
    return says


def test_a_model_is_looked_up_downloaded_and_used_by_keyboard(new_dialog, found, hub, qtbot, until):
    dialog = new_dialog(str(TARGET.path), str(HOME / "same"))
    page, new = dialog.hub, entry("owner/name", 700_000)
    dialog.pages.setCurrentWidget(page)
    qtbot.keyClicks(page.name, "https://huggingface.co/owner/name")
    page.name.setFocus()
    qtbot.keyClick(page.name, Qt.Key.Key_Return)
    until(lambda: page.download.isEnabled())
    assert dialog.isVisible()
    assert page._facts.text() == (
        "owner/name: 24 MB in 2 files; licence: mit\nStill to come: 24 MB.\n"
        "It is gated: the hub gives it only to those who have accepted its terms and logged in."
    )
    assert "model.safetensors  24 MB" in page._files.text()
    hub["download"].append(Downloaded("owner/name", new.path))
    found["entries"].append(new)
    page.download.click()
    until(lambda: page._as_draft.isVisible())
    assert page.notice.text() == "owner/name is on this computer now."
    page._as_draft.click()
    until(lambda: settled(dialog))
    assert dialog.pages.currentIndex() == 0
    assert dialog.draft.row.entry is new
    assert dialog.open_button.isEnabled()


def test_a_download_can_be_cancelled_and_gone_on_with(new_dialog, found, hub, qtbot, until):
    dialog = new_dialog(str(TARGET.path), str(HOME / "same"))
    page = dialog.hub
    dialog.pages.setCurrentWidget(page)
    page.name.setText("owner/name")
    page.look_up.click()
    until(lambda: page.download.isEnabled())
    hub["go"].clear()
    page.download.click()
    until(lambda: page.progress._label.text() == "Downloading ...")
    assert not page.download.isEnabled()
    qtbot.keyClick(page.name, Qt.Key.Key_Escape)
    assert dialog.isVisible()
    assert page.progress.isHidden()
    assert page.notice.text().startswith("The download was cancelled. What has come is kept")
    assert page.download.isEnabled()


@pytest.mark.parametrize("typed", ["name", "../x"])
def test_what_is_no_name_is_said_without_asking(new_dialog, found, hub, typed):
    dialog = new_dialog(str(TARGET.path), str(HOME / "same"))
    dialog.hub.name.setText(typed)
    dialog.hub.look_up.click()
    assert "is no name of a model on the hub" in dialog.hub.notice.text()
    assert not dialog._askers[1].busy


def test_why_the_hub_gives_nothing_is_said(new_dialog, found, hub, until):
    hub["look_up"] = [UserError("The hub cannot be reached: check the network connection.")]
    dialog = new_dialog(str(TARGET.path), str(HOME / "same"))
    dialog.hub.name.setText("owner/name")
    dialog.hub.look_up.click()
    until(lambda: not dialog.hub.notice.isHidden())
    assert dialog.hub.notice.text() == "The hub cannot be reached: check the network connection."
    assert dialog.hub.look_up.isEnabled()


def test_closing_ends_a_download(found, hub, new_dialog, until):
    dialog = new_dialog(str(TARGET.path), str(HOME / "same"))
    hub["go"].clear()
    dialog.hub.name.setText("owner/name")
    dialog.hub.look_up.click()
    until(lambda: dialog.hub._offer is not None)
    dialog.reject()
    assert not dialog._askers[1].busy


# --- the window ---


def test_the_window_loads_the_choice_and_begins_with_the_sampling(new_window, monkeypatch, until):
    window = new_window()
    wanted = Sampling(0.6, 20, 0.95, 0.0)
    choice = Choice("other", None, {"device": "cpu", "dtype": "float32"}, wanted)
    loaded = []

    def load_job(target, draft, **options):
        loaded.append((target, draft, options))
        return loader({"other": stub_pair})(target, draft, **options)

    monkeypatch.setattr("ui.session_busy.load_job", load_job)
    monkeypatch.setattr(PairDialog, "exec", lambda _: True)
    monkeypatch.setattr(PairDialog, "choice", choice)
    old = window.session.pair
    window.setup.open_pair()
    assert window.session.config.sampling != wanted  # not before the pair has come
    until(lambda: window.session.pair is not old)
    assert loaded == [("other", None, {"device": "cpu", "dtype": "float32"})]
    assert window.session.config.sampling == wanted
