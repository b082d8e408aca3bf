"""The page in headless Chromium: it renders, complains of nothing, answers to hover and filter."""

from __future__ import annotations

import base64

import pytest

from rooftile.lab.show.report import page
from rooftile.lab.show.report.sources import content

from .report_cases import network, tuning, typical
from .test_report_page import everything, nasty

PHONE, DESKTOP = (375, 800), (1280, 900)

SMALLEST_CONTRAST = """
const channels = (text) => {
  const canvas = document.createElement("canvas").getContext("2d");
  canvas.fillStyle = text;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const luminance = (text) => channels(text).map((c) => c / 255)
  .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const ground = (one) => {
  for (; one; one = one.parentElement) {
    const colour = getComputedStyle(one).backgroundColor;
    if (colour !== "rgba(0, 0, 0, 0)") return colour;
  }
};
let worst = [99, ""];
for (const one of document.querySelectorAll("body *")) {
  const own = [...one.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
  const text = own.map((node) => node.data).join("").trim();
  if (!text || !one.checkVisibility() || one.closest("script, #tip")) continue;
  const style = getComputedStyle(one);
  const pair = [luminance(one.closest("svg") ? style.fill : style.color), luminance(ground(one))];
  const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
  if (ratio < worst[0]) worst = [ratio, text];
}
return worst;
"""


@pytest.fixture
def show(chromium, tmp_path):
    """``show(content, size, scheme)``: the page in the browser, whose console must stay empty."""

    def open_page(found, size=DESKTOP, scheme="light"):
        path = tmp_path / "report.html"
        path.write_text(page(found), encoding="utf-8")
        width, height = size
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE,
        })  # fmt: skip
        scheme_is = [{"name": "prefers-color-scheme", "value": scheme}]
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme_is})
        chromium.get(path.as_uri())
        return chromium

    yield open_page
    assert [entry["message"] for entry in chromium.get_log("browser")] == []


def hover(browser, mark):
    from selenium.webdriver import ActionChains

    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", mark)
    ActionChains(browser).move_to_element(mark).perform()


def shown(browser, what):
    return [one for one in browser.find_elements("css selector", what) if one.is_displayed()]


def tick(browser, name, value):
    browser.execute_script("scrollTo(0, 0)")
    browser.find_element("css selector", f".filters input[name='{name}'][value='{value}']").click()


@pytest.mark.parametrize("size", [PHONE, DESKTOP])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_renders_within_the_width_and_can_be_read(show, size, scheme):
    browser = show(everything(), size, scheme)
    assert len(shown(browser, "figure")) == 10
    boxes = [one.rect for one in shown(browser, "figure svg.track, figure svg.roofline")]
    assert all(box["width"] > 200 and box["height"] > 20 for box in boxes)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= size[0]
    ratio, text = browser.execute_script(SMALLEST_CONTRAST)
    assert ratio >= 4.5, text
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")


def test_no_label_lies_on_another(show):
    browser = show(everything(), PHONE)
    overlaps = browser.execute_script("""
        const found = [];
        for (const picture of document.querySelectorAll("svg.axis")) {
          const texts = [...picture.querySelectorAll("text")];
          const boxes = texts.map((one) => one.getBoundingClientRect());
          boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
            const apart = a.right <= b.left || b.right <= a.left || a.bottom - 4 <= b.top
              || b.bottom - 4 <= a.top;
            if (!apart) found.push([a.left, a.top, b.left, b.top]);
          }));
        }
        return [found, document.querySelectorAll("svg.axis").length];""")
    assert overlaps == [[], 6]


def test_a_bar_is_drawn_as_long_as_it_says(show):
    browser = show(content(typical()))
    bars = {one.text.split()[0]: one.find_element("css selector", ".bar").rect["width"]
            for one in shown(browser, ".bars .strip") if "ms" in one.text}  # fmt: skip
    assert bars["tiled"] / bars["loops"] == pytest.approx(50, rel=0.1)
    assert bars["winograd"] / bars["tiled"] == pytest.approx(2.8, rel=0.02)


def test_hover_and_keyboard_show_what_a_mark_says(show):
    from selenium.webdriver.common.keys import Keys

    browser = show(content(typical()) + content(tuning({(1, 1): 2.0, (2, 3): "no"})))
    assert shown(browser, "#tip") == []
    spots = {
        ".bars .strip:nth-child(2)": "tiled (ieee)",
        ".roofline [data-tip] .mark": "loops (ieee)",
        ".heat td.best": "A=1 B=1",
    }
    for what, said in spots.items():
        hover(browser, browser.find_element("css selector", what))
        (tip,) = shown(browser, "#tip")
        assert said in tip.text
    first = browser.find_element("css selector", ".errors .strip")
    browser.execute_script("arguments[0].focus()", first)
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    (tip,) = shown(browser, "#tip")
    assert tip.text.startswith("tiled")
    assert browser.switch_to.active_element.get_attribute("aria-describedby") == "tip"
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert shown(browser, "#tip") == []


def test_filters_hide_rows_marks_and_sections(show):
    browser = show(content(typical()) + content(network()))
    (count,) = shown(browser, ".count")
    assert count.text == "11 of 11 rows"
    tick(browser, "precision", "fast")
    assert count.text == "10 of 11 rows"
    names = [one.text for one in shown(browser, ".bars .name")]
    assert "winograd" not in " ".join(names)
    assert len(shown(browser, ".roofline [data-tip]")) == 3
    tick(browser, "status", "passed")
    assert len(shown(browser, ".bars .strip")) == 3
    assert len(shown(browser, ".part")) == 1  # The network's operations have all passed.
    for status in ("failed", "skipped", "error"):
        tick(browser, "status", status)
    assert shown(browser, ".part") == []
    assert len(shown(browser, ".nothing")) == 1
    tick(browser, "status", "error")
    assert [one.text for one in shown(browser, ".bars .name")] == ["crash"]


def test_the_theme_can_be_chosen(show):
    browser = show(content(typical()), scheme="dark")
    (button,) = shown(browser, "button.theme")
    grounds = []
    for _ in range(3):
        ground = "return getComputedStyle(document.body).backgroundColor"
        grounds.append(browser.execute_script(ground))
        button.click()
    assert grounds[1] == "rgb(255, 255, 255)"  # auto (dark), light, dark
    assert grounds[0] == grounds[2] != grounds[1]


def test_print_opens_the_tables_on_white_paper(show):
    browser = show(content(typical()), scheme="dark")
    browser.execute_script("""
        window.opened = 0;
        addEventListener("beforeprint", () => {
          window.opened = document.querySelectorAll("details[open]").length;
        });""")
    pdf = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert pdf.startswith(b"%PDF")
    assert browser.execute_script("return window.opened") == 7
    assert len(browser.find_elements("css selector", "details[open]")) == 2
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    paper = "return getComputedStyle(document.documentElement).getPropertyValue('--paper')"
    assert browser.execute_script(paper) == "#ffffff"
    assert shown(browser, ".filters") == []
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_texts_of_records_do_not_run(show):
    browser = show(nasty())
    assert browser.execute_script("return window.hacked") is None
    assert browser.find_elements("css selector", "main img, main script") == []
    assert len(shown(browser, ".part")) == 5
