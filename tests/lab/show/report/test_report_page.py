"""The page as text: self-contained, well formed, and nothing of a record gets in as HTML."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.lab.measure.records import plain
from rooftile.lab.show.report import page, words
from rooftile.lab.show.report.sources import content
from rooftile.ops import named
from rooftile.ops.fields import fields_of
from rooftile.ops.registry import operations
from rooftile.strategies import strategy

from .report_cases import (
    CEILINGS,
    climb,
    network,
    passed,
    record,
    reproduced,
    trained,
    tuning,
    typical,
    without_time,
)

NASTY = "\"'><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'></style>&lt;"
CHARACTERS = st.characters(exclude_categories=["Cs", "Cc"])
VOID = {"meta", "link", "input"}


class Outline(HTMLParser):
    """Tags, attributes and text of a page; fails where tags do not close."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def count(self, tag):
        return sum(name == tag for name, _ in self.tags)


def everything():
    trials = tuning({(1, 1): 2.0, (2, 3): "no"})
    found = content(typical()) + content(network()) + content(trials)
    return found + content(reproduced("a document")) + content(trained(device="cpu"))


def nasty():
    """Records whose every text is an attempt to get out of its place."""
    made = climb(
        passed(NASTY, 0.5, cold=1.2, precision=NASTY, reason=NASTY, config={NASTY: NASTY}),
        without_time(NASTY, "failed", NASTY, budget_fraction=3.0, device=NASTY),
        without_time(f"{NASTY}2", "error", NASTY, precision=NASTY),
        device=NASTY, gpu=NASTY,
    )  # fmt: skip
    made["environment"][NASTY] = NASTY
    made["problem"]["activation"] = NASTY
    run = {**network(), "model": NASTY, "op_times_ms": {NASTY: 1.0}, "strategies": {NASTY: NASTY}}
    trials = tuning({(NASTY, 1): 2.0, (2, NASTY): NASTY}, strategy=NASTY)
    learnt = {
        **trained(device="cpu"),
        "model": NASTY,
        "options": {"optimiser": NASTY, "batch": 8, "precision": NASTY},
    }
    learnt["profile"] = json.loads(
        json.dumps(learnt["profile"]).replace("forward", json.dumps(NASTY)[1:-1])
    )
    found = content(made) + content(run) + content(trials)
    return found + content(reproduced(NASTY)) + content(learnt)


def test_nothing_comes_from_elsewhere():
    text = page(everything())
    outline = Outline(text)
    for tag, attributes in outline.tags:
        for name, value in attributes.items():
            if name in ("src", "href", "xlink:href", "action", "srcset"):
                assert value.startswith(("#", "data:")), (tag, name, value)
            assert not name.startswith("on"), (tag, name)
    assert not re.search(r"https?://|@import|url\(", text)


def test_the_policy_allows_the_pages_own_script_and_style_only():
    text = page(everything())
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    for tag in ("script", "style"):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_what_comes_from_records_is_text_only():
    plain, bad = Outline(page(everything())), Outline(page(nasty()))
    assert bad.count("script") == bad.count("style") == 1
    assert bad.count("img") == 0
    assert {tag for tag, _ in bad.tags} <= {tag for tag, _ in plain.tags} | {"text", "path"}
    allowed = {name for _, attributes in plain.tags for name in attributes}
    assert {name for _, attributes in bad.tags for name in attributes} <= allowed
    assert any(NASTY in text for text in bad.texts)


@settings(max_examples=30)
@given(st.text(CHARACTERS, min_size=1).map(str.strip).filter(bool))
def test_any_name_and_reason_are_shown_as_they_are(word):
    found = climb(passed(word, 0.5), without_time("other", "failed", word))
    outline = Outline(page(content(found)))
    shown = [text.strip() for text in outline.texts]
    assert word in shown
    assert f"failed: {word}" in shown
    tips = [attributes["data-tip"] for _, attributes in outline.tags if "data-tip" in attributes]
    assert any(tip.startswith(f"{word} (ieee)") for tip in tips)


def test_a_thousand_rows_are_all_there():
    rows = [passed(f"rung_{k}", 0.001 * (k + 1), cold=1.1) for k in range(900)]
    rows += [without_time(f"bad_{k}", "failed", f"reason {k}") for k in range(100)]
    text = page(content(climb(*rows)))
    assert text.count(" data-counted>") == 1000
    assert "reason 99" in text
    assert len(text) < 8e6


def test_filters_are_offered_where_there_is_a_choice():
    one = page(content(climb(passed("a", 0.5), passed("b", 0.2))))
    assert "<fieldset>" not in one
    assert page(everything()).count("<fieldset>") == 2  # All of them are on one device.


def test_numbers_stand_below_each_figure():
    text = page(everything())
    assert text.count("<figure") == text.count('<details class="numbers"') == 10
    assert "would take 34 s" in text


def test_a_named_problem_is_called_by_its_name():
    assert "conv2d lenet-conv1" in page(content(typical()))


def test_a_problems_sizes_stand_in_the_operations_order():
    text = page(content(tuning({(1, 1): 2.0})))
    assert "batch 64, channels 1, height 86, width 86, maps 4, mask 7 × 7, relu" in text


def test_a_rung_is_over_the_best_peer_of_its_own_precision():
    found = climb(
        passed("tiled", 0.5), passed("wide", 4.0, precision="fp16"),
        passed("alone", 3.0, precision="tf32"),
        passed("torch eager", 0.25, kind="peer"),
        passed("torch eager", 2.0, kind="peer", precision="fp16"),
        passed("torch compile", 1.0, kind="peer", precision="fp16"),
    )  # fmt: skip
    texts = [text.strip() for text in Outline(page(content(found))).texts]
    tiles = [k for k, text in enumerate(texts) if text.startswith("Over the best peer")]
    assert [texts[k] for k in tiles] == ["Over the best peer, ieee", "Over the best peer, fp16"]
    assert all("2.00 ×" in texts[k : k + 4] for k in tiles)


def test_every_rung_has_its_sentence_and_ladders_fold():
    text = page(content(typical()))
    outline = Outline(text)
    names = {row.strategy for row in content(typical()).sections[0].rows if row.kind == "strategy"}
    known = {one for one in names if one in {"loops", "threads", "winograd"}}
    assert known
    for name in known:
        sentence = strategy("conv2d", name).summary
        assert any(sentence == told for told in outline.texts)
    assert ("details", {"class": "ladder", "open": None}) in outline.tags


def test_ladders_of_one_name_have_titles_that_differ():
    small, large = climb(passed("loops", 1.0)), climb(passed("loops", 1.0))
    large["problem"]["batch"] = 3 * small["problem"]["batch"]
    outline = Outline(page(content(small) + content(large)))
    titles = {
        text.strip() for text in outline.texts if text.startswith("conv2d") and "batch" in text
    }
    assert len(titles) == 2


def test_a_ladder_without_a_time_draws_no_axis():
    failed = content(
        climb(without_time("loops", "failed", "wrong"), without_time("x", "error", "no"))
    )
    assert 'class="axes"' not in page(failed)
    assert 'class="heads"' not in page(failed)


def test_a_published_experiment_shows_each_number_with_its_verdict():
    found = content(reproduced("a document"))
    assert found.only(None, "cuda").experiments == ()
    outline = Outline(page(found))
    texts = [text.strip() for text in outline.texts]
    assert "Published experiment exams" in texts
    assert "not true: because" in texts
    assert texts.count("cannot be") == 3  # A tile, a strip and a row of the table.
    tips = [attributes["data-tip"] for _, attributes in outline.tags if "data-tip" in attributes]
    # What nothing was measured for has a row and no strip.
    assert [tip.partition("\n")[2] for tip in tips] == ["the same", "a slip", "why"]
    assert tips[0].startswith("a document, a place\n")
    assert "not there" in texts


def test_an_audited_kernel_stands_in_a_figure_of_its_own():
    rows = [
        record(1, passed("tiled", 0.5)),
        record(2, passed("mine.py:conv", 0.9, kind="peer"), command="audit", run="b"),
    ]
    text = page(content({"records": rows}))
    texts = [one.strip() for one in Outline(text).texts]
    assert "Audited and submitted kernels" in texts
    assert "Over the best peer" not in texts
    assert "Over the first rung" not in texts
    assert "peer" not in texts
    ladder, _, rest = text.partition("Audited and submitted kernels")
    assert "mine.py:conv" not in ladder.partition("<main")[2]
    assert "mine.py:conv" in rest


def test_kernels_that_were_only_audited_make_a_page_too():
    rows = [record(1, passed("mine.py:conv", 0.9, kind="peer"), command="submit")]
    assert "Audited and submitted kernels" in page(content({"records": rows}))


@pytest.mark.parametrize("waited", [0.4, 0.0])
def test_a_busy_machine_is_warned_of(waited):
    made = climb(passed("tiled", 0.5), passed("loops", 0.1))
    made["rows"][0]["time_ms"]["waited"] = waited
    text = page(content(made))
    said = "The machine was too busy to trust times: tiled: up to 40 %"
    assert (said in text) == bool(waited)
    assert ("the machine was too busy to trust it" in text) == bool(waited)


def test_ceilings_of_a_busy_machine_are_warned_of():
    said = "The ceilings were measured while other programs ran."
    assert said not in page(content(climb(passed("tiled", 0.5))))
    ceilings = {**CEILINGS, "undisturbed": False}
    assert said in page(content(climb(passed("tiled", 0.5), ceilings=ceilings)))


@pytest.mark.parametrize(
    ("operation", "name", "said"),
    [
        ("reduce", "sum-2^20", "shape 1048576, operator sum"),
        ("scan", "max-2^28", "shape 268435456, axis 0, operator max"),
        ("matvec", "matvec-4096-transposed", "rows 4096, columns 4096, transpose"),
        ("compact", "any-order-2^28", "count 268435456, not ordered"),
    ],
)
def test_a_problems_fields_are_words(operation, name, said):
    problem = named(operation, name)
    assert words.shape({"operation": operation, **plain(fields_of(problem))}) == said


def test_no_named_problem_is_told_as_python():
    for operation, one in operations().items():
        for name in one.named:
            problem = {"operation": operation, **plain(fields_of(named(operation, name)))}
            assert not set(words.shape(problem).replace(",", " ").split()) & {
                "True", "False", "None", "by", "{"
            } - ({"by"} if operation == "mlp_training" else set())  # fmt: skip
