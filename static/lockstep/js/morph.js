// Patches one piece of the page into another in place, so that focus, scroll and the pointer keep their target.
//
// Rows of `<tbody data-stable>` never move under the pointer: rows that are still there are patched where they
// stand, rows that left are struck out, and new ones wait behind "3 new – show". With `data-stable="calm"` they
// come in by themselves once nobody has pointed at the table for a while.

const KEPT = new Set(["open", "tabindex"]);
const OWN_CLASSES = ["is-new", "is-gone", "is-stale", "changed"]; // set by the page's scripts, unknown to the server
const CALM_MS = 15_000;
const waitingSince = new WeakMap(); // table body -> since when fresh rows wait to be shown

/** Make `from` look like `to`. Both are elements with the same name. */
export function morph(from, to) {
  if (from.isEqualNode(to)) return;
  morphAttributes(from, to);
  if (from.matches("[data-keep]")) return;
  if (from.matches("tbody[data-stable]")) {
    morphRows(from, to);
    return;
  }
  morphChildren(from, to);
}

function morphAttributes(from, to) {
  const editing = from === document.activeElement && from.matches("input, select, textarea");
  morphClasses(from, to);
  for (const { name, value } of to.attributes) {
    if (name === "class") continue;
    if (editing && name === "value") continue;
    if (KEPT.has(name) && from.hasAttribute(name)) continue;
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && !KEPT.has(name) && name !== "class") from.removeAttribute(name);
  }
}

function morphClasses(from, to) {
  const own = OWN_CLASSES.filter((name) => from.classList.contains(name));
  const wanted = [...to.classList, ...own].join(" ");
  if (wanted) from.setAttribute("class", wanted);
  else from.removeAttribute("class");
}

const keyOf = (node) => (node.nodeType === 1 ? node.dataset?.key || node.id || null : null);

function morphChildren(from, to) {
  const keyed = new Map();
  for (const child of from.children) {
    const key = keyOf(child);
    if (key) keyed.set(key, child);
  }
  let spot = from.firstChild;
  for (const wanted of [...to.childNodes]) {
    const key = keyOf(wanted);
    const match = key ? keyed.get(key) : sameKind(spot, wanted) ? spot : null;
    if (!match) {
      from.insertBefore(document.importNode(wanted, true), spot);
      continue;
    }
    if (match === spot) spot = spot.nextSibling;
    else from.insertBefore(match, spot);
    if (match.nodeType === 1) morph(match, wanted);
    else if (match.nodeValue !== wanted.nodeValue) replaceText(match, wanted.nodeValue);
  }
  while (spot) {
    const next = spot.nextSibling;
    spot.remove();
    spot = next;
  }
}

function sameKind(a, b) {
  return a && a.nodeType === b.nodeType && a.nodeName === b.nodeName && !keyOf(a);
}

function replaceText(node, text) {
  const worthShowing = node.nodeValue.trim() && text.trim() && node.nodeValue.trim() !== text.trim();
  node.nodeValue = text;
  const cell = worthShowing && node.parentElement?.closest("[data-flash]");
  if (!cell) return;
  cell.classList.remove("changed");
  void cell.offsetWidth; // restarts the animation
  cell.classList.add("changed");
}

function morphRows(body, fresh) {
  const rows = new Map([...body.children].map((row) => [row.dataset.key, row]));
  const incoming = new Map([...fresh.children].map((row) => [row.dataset.key, row]));
  const kept = [...rows.keys()].filter((key) => incoming.has(key));
  const added = [...incoming.keys()].filter((key) => !rows.has(key));
  const left = [...rows.keys()].filter((key) => !incoming.has(key));
  const order = [...incoming.keys()].filter((key) => rows.has(key));
  for (const key of kept) {
    rows.get(key).classList.remove("is-gone");
    morph(rows.get(key), incoming.get(key));
  }
  const moved = order.join() !== kept.join();
  const busy = body.matches(":hover") || body.contains(document.activeElement);
  const changed = added.length || left.length || moved;
  if (!rows.size || (!busy && (!added.length && !moved || isCalm(body)))) {
    showRows(body, incoming);
    return;
  }
  if (changed && !waitingSince.has(body)) waitingSince.set(body, performance.now());
  for (const key of left) rows.get(key).classList.add("is-gone");
  announce(body, incoming, added.length, left.length, moved);
}

function isCalm(body) {
  if (body.dataset.stable !== "calm" || !waitingSince.has(body)) return false;
  return performance.now() - waitingSince.get(body) > CALM_MS;
}

/** Take the fresh rows in their fresh order. */
function showRows(body, incoming) {
  const rows = new Map([...body.children].map((row) => [row.dataset.key, row]));
  const wasEmpty = rows.size === 0;
  const wanted = [...incoming].map(([key, row]) => {
    const known = rows.get(key);
    if (known) return known;
    const made = document.importNode(row, true);
    if (!wasEmpty) made.classList.add("is-new");
    return made;
  });
  body.replaceChildren(...wanted);
  waitingSince.delete(body);
  noteFor(body)?.setAttribute("hidden", "");
}

function announce(body, incoming, added, left, moved) {
  const note = noteFor(body);
  if (!note) return;
  if (!added && !left && !moved) {
    note.hidden = true;
    return;
  }
  const parts = [];
  if (added) parts.push(`${added} new`);
  if (left) parts.push(`${left} gone`);
  if (!added && !left) parts.push("order changed");
  note.querySelector("[data-words]").textContent = parts.join(", ");
  note.querySelector("button").onclick = () => showRows(body, incoming);
  note.hidden = false;
}

const noteFor = (body) => body.closest("[data-rows]")?.querySelector(".table-note");
