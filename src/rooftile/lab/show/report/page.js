"use strict";
(() => {
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const tip = document.getElementById("tip");
  let current = null;

  // Hover and focus: what a mark says, beside it and inside the window.
  function show(mark) {
    current = mark;
    tip.textContent = mark.dataset.tip;
    tip.hidden = false;
    mark.setAttribute("aria-describedby", "tip");
    const spot = (mark.querySelector(".mark, .bar") || mark).getBoundingClientRect();
    const box = tip.getBoundingClientRect();
    const x = Math.min(Math.max(spot.left + spot.width / 2 - box.width / 2, 8),
      document.documentElement.clientWidth - box.width - 8);
    const above = spot.top - box.height - 10;
    tip.style.left = `${Math.max(x, 8)}px`;
    tip.style.top = `${above < 8 ? spot.bottom + 10 : above}px`;
  }
  function hide() {
    current = null;
    tip.hidden = true;
    all("[aria-describedby=tip]").forEach((mark) => mark.removeAttribute("aria-describedby"));
  }
  for (const [come, go] of [["pointerover", "pointerout"], ["focusin", "focusout"]]) {
    document.addEventListener(come, (event) => {
      const mark = event.target.closest("[data-tip]");
      if (mark) show(mark);
    });
    document.addEventListener(go, hide);
  }
  addEventListener("scroll", () => current && show(current), { passive: true });

  // One stop of the tab key for each figure; arrows go from mark to mark.
  for (const group of all("[data-roving]")) {
    const seen = () => all("[data-tip]", group).filter((mark) => !mark.hasAttribute("hidden"));
    seen().forEach((mark, index) => mark.setAttribute("tabindex", index ? -1 : 0));
    group.addEventListener("keydown", (event) => {
      const marks = seen();
      const now = marks.indexOf(document.activeElement);
      const next = { ArrowDown: now + 1, ArrowRight: now + 1, ArrowUp: now - 1, ArrowLeft: now - 1,
        Home: 0, End: marks.length - 1 }[event.key];
      if (event.key === "Escape") hide();
      if (next === undefined || now < 0 || !marks[next]) return;
      event.preventDefault();
      all("[tabindex='0'][data-tip]", group).forEach((mark) => mark.setAttribute("tabindex", -1));
      marks[next].setAttribute("tabindex", 0);
      marks[next].focus();
    });
  }

  // Filters: a mark or a line of a table shows when each of its values is ticked.
  const form = document.querySelector(".filters");
  const marks = all("[data-status]");
  const parts = all(".part");
  const counted = all("[data-counted]");
  function filter() {
    const without = all("input:not(:checked)", form).map((box) => [box.name, box.value]);
    const off = (mark) => without.some(([name, value]) => mark.dataset[name] === value);
    marks.forEach((mark) => mark.toggleAttribute("hidden", off(mark)));
    parts.forEach((part) => { part.hidden = !part.querySelector("[data-status]:not([hidden])"); });
    document.querySelector(".nothing").hidden = parts.some((part) => !part.hidden);
    const left = counted.filter((mark) => !mark.hasAttribute("hidden")).length;
    form.querySelector(".count").textContent = `${left} of ${counted.length} rows`;
    for (const group of all("[data-roving]")) {
      const first = group.querySelector("[data-tip]:not([hidden])");
      if (first && !group.querySelector("[tabindex='0'][data-tip]:not([hidden])")) {
        first.setAttribute("tabindex", 0);
      }
    }
  }
  form.addEventListener("change", filter);
  form.hidden = false;
  form.reset();
  filter();

  const themes = ["auto", "light", "dark"];
  form.querySelector(".theme").addEventListener("click", (event) => {
    const root = document.documentElement;
    const now = themes[(themes.indexOf(root.dataset.theme || "auto") + 1) % themes.length];
    root.dataset.theme = now;
    event.target.textContent = `Theme: ${now}`;
  });

  // On paper nothing can be opened.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])");
    closed.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((part) => { part.open = false; }));
})();
