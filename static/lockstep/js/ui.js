// Theme, keyboard, help, the rack map's arrows, forms that ask before they act.

// --- Theme: system, light, dark. A cookie, so that the server's first byte is already right ------------------
const root = document.documentElement;
const themeButtons = document.querySelectorAll("[data-set-theme]");

function setTheme(name) {
  if (name === "system") delete root.dataset.theme;
  else root.dataset.theme = name;
  document.cookie = `lockstep_theme=${name}; path=/; max-age=31536000; samesite=lax`;
  themeButtons.forEach((each) => each.setAttribute("aria-pressed", String(each.dataset.setTheme === name)));
  document.dispatchEvent(new CustomEvent("lockstep:theme"));
}
themeButtons.forEach((each) => each.addEventListener("click", () => setTheme(each.dataset.setTheme)));

// --- Keyboard. Single keys can be switched off (WCAG 2.1.4) -------------------------------------------------
const help = document.querySelector("#help");
const toggle = document.querySelector("#shortcuts-on");
const shortcutsOn = () => localStorage.getItem("lockstep.shortcuts") !== "off";
if (toggle) {
  toggle.checked = shortcutsOn();
  toggle.addEventListener("change", () => localStorage.setItem("lockstep.shortcuts", toggle.checked ? "on" : "off"));
}

const GO = { t: "today", q: "queue", n: "nodes", e: "tenants", j: "job-new", s: "status" };
let awaitingGo = 0;

function inField(target) {
  return target.closest?.("input, select, textarea, [contenteditable]");
}

function goTo(key) {
  const link = document.querySelector(`[data-go="${GO[key]}"]`);
  if (link) location.href = link.href;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    if (inField(event.target)) event.target.blur();
    return;
  }
  if (inField(event.target) || !shortcutsOn()) return;
  if (Date.now() - awaitingGo < 1500) {
    awaitingGo = 0;
    return goTo(event.key);
  }
  if (event.key === "g") awaitingGo = Date.now();
  else if (event.key === "?") help?.showModal();
  else if (event.key === "/") {
    const filter = document.querySelector("[data-filter]");
    if (!filter) return;
    event.preventDefault();
    filter.focus();
    filter.select?.();
  }
});

document.querySelectorAll("[data-open]").forEach((opener) =>
  opener.addEventListener("click", () => document.querySelector(opener.dataset.open)?.showModal()),
);
document.querySelectorAll("dialog [data-close]").forEach((closer) =>
  closer.addEventListener("click", () => closer.closest("dialog").close()),
);
document.querySelectorAll("dialog.sheet").forEach((dialog) =>
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close()),
);

// --- Filters apply themselves when a choice is made --------------------------------------------------------
document.querySelectorAll("form.filters[data-auto]").forEach((form) => {
  form.addEventListener("change", (event) => event.target.matches("select, input[type=checkbox]") && submitClean(form));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submitClean(form);
  });
});

function submitClean(form) {
  // Empty fields stay out of the address: what is shared is only what was chosen.
  const chosen = [...new FormData(form)].filter(([, value]) => value !== "");
  location.href = `${form.getAttribute("action") || location.pathname}?${new URLSearchParams(chosen)}`;
}

// --- Rack map: one stop for Tab, arrows inside; what is under the eye is said in words ----------------------
document.querySelectorAll("[data-rack-map]").forEach((map) => {
  const cells = () => [...map.querySelectorAll("a.node")];
  const tip = map.closest("[data-rack-host]")?.querySelector(".rack-tip");
  const describe = (cell) => tip && (tip.textContent = cell.getAttribute("aria-label"));
  cells().forEach((cell, index) => cell.setAttribute("tabindex", index === 0 ? "0" : "-1"));
  map.addEventListener("mouseover", (event) => event.target.closest("a.node") && describe(event.target.closest("a.node")));
  map.addEventListener("focusin", (event) => {
    const cell = event.target.closest("a.node");
    if (!cell) return;
    cells().forEach((each) => each.setAttribute("tabindex", each === cell ? "0" : "-1"));
    describe(cell);
  });
  map.addEventListener("keydown", (event) => {
    const cell = event.target.closest("a.node");
    if (!cell || !["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].includes(event.key)) return;
    event.preventDefault();
    neighbour(cells(), cell, event.key)?.focus();
  });
});

function neighbour(cells, cell, key) {
  const here = cell.getBoundingClientRect();
  const vertical = key === "ArrowUp" || key === "ArrowDown";
  const sign = key === "ArrowUp" || key === "ArrowLeft" ? -1 : 1;
  let best = null;
  let least = Infinity;
  for (const other of cells) {
    if (other === cell) continue;
    const there = other.getBoundingClientRect();
    const ahead = sign * (vertical ? there.top - here.top : there.left - here.left);
    const aside = Math.abs(vertical ? there.left - here.left : there.top - here.top);
    if (ahead < 2) continue;
    const distance = ahead + 4 * aside;
    if (distance < least) [least, best] = [distance, other];
  }
  return best;
}

// --- Copy to clipboard -------------------------------------------------------------------------------------
document.querySelectorAll("[data-copy]").forEach((button) =>
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.querySelector(button.dataset.copy).textContent.trim());
    button.textContent = "Copied";
  }),
);

// --- Pieces that are fetched later: tables behind plots when they are opened, dear answers at once ----------
async function fetchPart(name) {
  const url = new URL(location.href);
  url.searchParams.set("partial", name);
  const answer = await fetch(url, { credentials: "same-origin" });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  return fresh.querySelector(`[data-partial="${name}"]`);
}

async function fill(holder, name) {
  try {
    holder.replaceChildren(...(await fetchPart(name)).childNodes);
  } catch (error) {
    holder.replaceChildren(`Could not load this: ${error.message}. Reload the page to try again.`);
  }
}

document.querySelectorAll("details[data-lazy]").forEach((details) =>
  details.addEventListener("toggle", () => {
    if (details.open) fill(details.querySelector("[data-partial]"), details.dataset.lazy);
  }),
);

const reasonShown = () => document.querySelector('[data-partial="why"]')?.dataset.reason;
document.querySelectorAll("[data-load]").forEach((holder) => {
  let answered = reasonShown();
  fill(holder, holder.dataset.load);
  document.addEventListener("lockstep:patched", ({ detail }) => {
    if (!detail.includes(holder.dataset.reloadWith) || reasonShown() === answered) return;
    answered = reasonShown();
    fill(holder, holder.dataset.load);
  });
});
