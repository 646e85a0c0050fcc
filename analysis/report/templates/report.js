// Theme, sorting, filters and copying on the report's pages. All of them can be read without it.
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const one = (selector) => document.querySelector(selector);

// A browser may refuse storage to a page that it opens from a disk.
const kept = {
  get: (name) => { try { return localStorage.getItem(name); } catch { return null; } },
  set: (name, value) => { try { localStorage.setItem(name, value); } catch { /* the choice lasts for this page */ } },
};

function theme() {
  const button = one("#theme");
  const isDark = () => (document.documentElement.dataset.theme
    ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const show = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  const chosen = kept.get("theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
  button.hidden = false;
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    kept.set("theme", document.documentElement.dataset.theme);
    show();
  });
  show();
}

function copying() {
  for (const button of all(".copy")) {
    button.hidden = false;
    const text = button.previousElementSibling.textContent;
    button.setAttribute("aria-label", `Copy ${text}`);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch { // the browser forbids it: select the text, so that the reader can copy it
        getSelection().selectAllChildren(button.previousElementSibling);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }
}

function sorting() {
  const key = (row, column) => {
    const cell = row.cells[column];
    const text = cell?.textContent.trim() ?? "";
    return cell?.dataset.value !== undefined ? Number(cell.dataset.value) : text;
  };
  const compare = (one, other) => {
    if (typeof one === "number" && typeof other === "number") return one - other;
    if (typeof one === "number") return -1; // cells without a number come last
    return typeof other === "number" ? 1 : one.localeCompare(other, "en", { numeric: true });
  };
  for (const table of all("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => (up ? 1 : -1) * compare(key(a, column), key(b, column)));
        table.tBodies[0].append(...rows);
      });
    });
  }
}

// The matrix: a tooltip at the pointer and at the focus; arrow keys move from mark to mark, one tab stop per paper.
function matrix() {
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true"); // the marks' own labels say the same
  document.body.append(tip);
  const show = (cell) => {
    tip.textContent = cell.getAttribute("aria-label");
    tip.hidden = false;
    const box = cell.getBoundingClientRect();
    const left = Math.min(box.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
    const above = box.bottom + tip.offsetHeight + 12 > innerHeight;
    tip.style.left = `${Math.max(8, left) + scrollX}px`;
    tip.style.top = `${scrollY + (above ? box.top - tip.offsetHeight - 6 : box.bottom + 6)}px`;
  };
  const hide = () => { tip.hidden = true; };
  for (const study of all("#matrix .study")) {
    const cells = all(".cell", study);
    cells.forEach((cell, index) => {
      cell.tabIndex = index ? -1 : 0;
      cell.addEventListener("mouseenter", () => show(cell));
      cell.addEventListener("mouseleave", hide);
      cell.addEventListener("focus", () => show(cell));
      cell.addEventListener("blur", hide);
      cell.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (event.key === "Escape") hide();
        if (!step || !cells[index + step]) return;
        event.preventDefault();
        cell.tabIndex = -1;
        cells[index + step].tabIndex = 0;
        cells[index + step].focus();
      });
    });
  }
}

function filter() {
  const form = one("#filter");
  if (!form) return;
  const states = all(".legend input");
  const chosen = one("#implementation");
  const names = new Set(all("[data-implementations]").flatMap((tile) => tile.dataset.implementations.split(" ")));
  names.delete("");
  chosen.append(...[...names].sort().map((name) => new Option(name, name)));
  form.hidden = false;
  for (const box of states) box.hidden = false;

  const apply = () => {
    const words = one("#search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const study = one("#study").value;
    const implementation = chosen.value;
    const wanted = new Set(states.filter((box) => box.checked).map((box) => box.value));
    const has = (text, word) => text.toLowerCase().includes(word);
    const parts = ([page, finding, state, place, title, there, of]) => [[title, state, place, there], [FINDINGS[finding] ?? "", of, page]];
    const hits = words.length ? CLAIMS.filter((claim) => words.every((word) => parts(claim).flat().some((part) => has(part, word)))) : [];
    const found = new Set(hits.map((claim) => claim[1]));
    const fits = (finding) => !words.length || found.has(finding);
    for (const section of all(".study")) section.hidden = Boolean(study) && section.dataset.study !== study;
    let count = 0;
    for (const tile of all("[data-implementations]")) {
      const uses = !implementation || tile.dataset.implementations.split(" ").includes(implementation);
      tile.classList.toggle("off", !uses);
      for (const cell of all(".cell", tile)) {
        const shown = fits(cell.dataset.finding) && [...wanted].some((state) => cell.classList.contains(state));
        cell.classList.toggle("off", !shown);
        count += shown && uses && !tile.closest(".study").hidden;
      }
    }
    for (const row of all(".finding")) row.hidden = !(fits(row.dataset.finding) && wanted.has(row.dataset.state));
    const list = one("#hits");
    list.hidden = !words.length;
    list.replaceChildren(...hits.slice(0, 60).map((claim) => {
      const [page, , state, place, title, there] = claim;
      const link = Object.assign(document.createElement("a"), { href: page, textContent: title });
      const verdict = Object.assign(document.createElement("span"), { className: `verdict ${state.replaceAll(" ", "-")}`, textContent: state });
      const item = document.createElement("li");
      item.append(link, " ", verdict, ` ${place}${there && `; reference set: ${there}`}`);
      // where a word stands that the line lacks
      const [shown, others] = parts(claim);
      const unseen = words.filter((word) => !shown.some((part) => has(part, word)));
      const where = new Set(unseen.map((word) => others.find((part) => has(part, word))));
      if (where.size) item.append(Object.assign(document.createElement("div"), { className: "soft small", textContent: `Found in: ${[...where].join(" ")}` }));
      return item;
    }));
    const all_ = all(".cell").length;
    const said = count === all_ ? "" : `${count} of ${all_} marks match; a finding has one in each box that speaks of it.`;
    one("#shown").textContent = words.length ? `${hits.length} ${hits.length === 1 ? "claim" : "claims"} found. ${said}` : said;
  };
  // The address holds what is chosen, so that a link shows the same. A browser may refuse that to a page from a disk.
  const address = () => {
    const hidden = states.filter((box) => !box.checked).map((box) => box.value);
    const chosenNow = { q: one("#search").value, study: one("#study").value, implementation: chosen.value, without: hidden.join(" ") };
    const query = new URLSearchParams(Object.entries(chosenNow).filter(([, value]) => value)).toString();
    try { history.replaceState(null, "", `${location.pathname}${query && `?${query}`}${location.hash}`); } catch { /* stays as it is */ }
  };
  const asked = new URLSearchParams(location.search);
  one("#search").value = asked.get("q") ?? "";
  one("#study").value = asked.get("study") ?? "";
  chosen.value = asked.get("implementation") ?? "";
  for (const box of states) box.checked = !(asked.get("without") ?? "").split(" ").includes(box.value);
  if (location.search) document.addEventListener("DOMContentLoaded", apply);

  form.addEventListener("input", () => { apply(); address(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => {
    for (const box of states) box.checked = true;
    setTimeout(() => { apply(); address(); });
  });
  for (const box of states) box.addEventListener("change", () => { apply(); address(); });
}

// Unfold what the address leads to.
function unfolding() {
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = target?.closest("details:not([open])");
    for (let box = folded; box; box = box.parentElement.closest("details")) box.open = true;
    if (folded) target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
}

// Unfold everything for printing, or print the summary alone, folded as it is.
function printing() {
  let opened = [];
  const root = document.documentElement;
  const button = one("#summary");
  button.hidden = !one(".beyond");
  button.addEventListener("click", () => { root.dataset.print = "summary"; print(); });
  addEventListener("beforeprint", () => {
    opened = root.dataset.print ? [] : all("details:not([open])");
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    delete root.dataset.print;
  });
}

theme();
copying();
sorting();
matrix();
filter();
unfolding();
printing();
