// The live page. A websocket brings small events; anything larger is fetched again through the normal view.
//
// The words by the clock are the truth about the connection: Live, Reconnecting (12 s), Paused, Stale since 14:02.

import { drawCapacity } from "./capacity.js";
import { morph } from "./morph.js";
import { stamp } from "./time.js";

const FIRST_WAIT_MS = 800;
const LONGEST_WAIT_MS = 30_000;
const HIDDEN_CLOSE_MS = 60_000;
const LEAST_GAP_MS = 1_000;
const SIGNED_OUT = 4401;

class Refresher {
  // Fetches the partials of dirty topics: at most once a second, and at most a fifth of the time.
  constructor() {
    this.dirty = new Set();
    this.timer = null;
    this.gap = LEAST_GAP_MS;
    this.last = 0;
    this.halted = false;
  }

  mark(topic) {
    this.dirty.add(topic);
    if (this.timer || this.halted || document.hidden) return;
    const wait = Math.max(60, this.last + this.gap - performance.now());
    this.timer = setTimeout(() => this.run(), wait);
  }

  async run() {
    const topics = [...this.dirty];
    this.dirty.clear();
    const wanted = [...document.querySelectorAll("[data-live][data-partial]")].filter((element) =>
      element.dataset.live.split(" ").some((topic) => topics.includes(topic)),
    );
    document.dispatchEvent(new CustomEvent("lockstep:refresh", { detail: topics }));
    const begun = performance.now();
    if (wanted.length) await this.fetchAll(wanted, topics);
    this.last = performance.now();
    this.gap = Math.max(LEAST_GAP_MS, 5 * (this.last - begun));
    this.timer = null;
    if (this.dirty.size) this.mark([...this.dirty][0]);
  }

  async fetchAll(wanted, topics) {
    const names = [...new Set(wanted.map((element) => element.dataset.partial))];
    const url = new URL(location.href);
    url.hash = "";
    url.searchParams.set("partial", names.join(","));
    try {
      const answer = await fetch(url, { headers: { "X-Partial": "1" }, credentials: "same-origin" });
      if (answer.redirected && new URL(answer.url).pathname.startsWith("/login")) return signedOut();
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      this.patch(await answer.text(), names);
      document.querySelectorAll(".partial-failed").forEach((note) => note.remove());
    } catch (error) {
      topics.forEach((topic) => this.dirty.add(topic));
      this.gap = Math.min(LONGEST_WAIT_MS, this.gap * 2);
      wanted.forEach((element) => fail(element, error));
    }
  }

  patch(html, names) {
    const fresh = new DOMParser().parseFromString(html, "text/html");
    for (const name of names) {
      const from = document.querySelector(`[data-partial="${name}"]`);
      const to = fresh.querySelector(`[data-partial="${name}"]`);
      if (from && to) morph(from, to);
    }
    const clock = fresh.querySelector("[data-clock-now]");
    if (clock) Object.assign(document.body.dataset, clock.dataset);
    document.dispatchEvent(new CustomEvent("lockstep:patched", { detail: names }));
  }
}

function fail(element, error) {
  element.classList.add("is-stale");
  element.title = `Not refreshed: ${error.message}. Lockstep tries again by itself.`;
}

function signedOut() {
  show("signed-out", "Signed out – reload to sign in");
}

const button = document.querySelector("[data-live-state]");
const voice = document.querySelector("[data-live-voice]");
let shown = "";

function show(state, words) {
  if (!button) return;
  button.dataset.state = state;
  button.querySelector("[data-words]").textContent = words;
  // Screen readers hear a change of state, not each passing second.
  if (shown !== state && voice) voice.textContent = `Connection: ${words}`;
  shown = state;
}

class Connection {
  constructor(topics, cursor) {
    this.topics = topics;
    this.cursor = cursor;
    this.seen = new Map(); // topic -> last cursor on this connection
    this.tries = 0;
    this.paused = false;
    this.refresher = new Refresher();
    this.lostAt = null;
  }

  open() {
    if (this.socket || this.paused) return;
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(`${scheme}//${location.host}/ws/live/`);
    this.socket.onopen = () => {
      this.seen.clear();
      this.socket.send(JSON.stringify({ type: "subscribe", topics: this.topics, cursor: this.cursor }));
    };
    this.socket.onmessage = ({ data }) => this.take(JSON.parse(data));
    this.socket.onclose = ({ code }) => this.closed(code);
  }

  take(message) {
    const { type, topic, cursor } = message;
    if (type === "hello") {
      this.tries = 0;
      if (this.lostAt !== null) this.topics.forEach((each) => this.refresher.mark(each));
      this.lostAt = null;
      this.cursor ??= cursor;
      this.heard();
    } else if (type === "event") {
      const before = this.seen.get(topic);
      const missed = before !== undefined && message.previous != null && message.previous !== before;
      this.seen.set(topic, cursor);
      this.cursor = Math.max(this.cursor ?? 0, cursor);
      this.heard();
      if (!missed && topic === "capacity") drawCapacity(message.data ?? {});
      this.refresher.mark(topic);
    } else if (type === "refetch") {
      this.heard();
      this.refresher.mark(topic);
    } else if (type === "denied") {
      this.topics = this.topics.filter((each) => each !== topic);
    }
  }

  heard() {
    this.heardAt = Date.now();
    delete document.body.dataset.stale;
    document.querySelectorAll(".is-stale").forEach((element) => {
      element.classList.remove("is-stale");
      element.removeAttribute("title");
    });
    if (!this.paused) show("live", "Live");
  }

  closed(code) {
    this.socket = null;
    if (this.paused) return;
    if (code === SIGNED_OUT) return signedOut();
    this.lostAt ??= Date.now();
    const most = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.tries);
    this.tries += 1;
    this.retryAt = Date.now() + most * (0.5 + Math.random() / 2);
  }

  second() {
    if (this.paused || shown === "signed-out") return;
    const now = Date.now();
    if (!this.socket && !document.hidden) {
      if (now >= (this.retryAt ?? 0)) this.open();
      const lost = Math.round((now - (this.lostAt ?? now)) / 1000);
      if (lost >= 30) this.stale(this.lostAt);
      else if (this.lostAt !== null) show("reconnecting", `Reconnecting (${lost} s)`);
      return;
    }
    const quiet = now - (this.heardAt ?? now);
    const limit = 1000 * Number(document.body.dataset.quietS || 60);
    if (this.socket?.readyState === WebSocket.OPEN && quiet > limit) this.stale(this.heardAt);
  }

  stale(since) {
    show("stale", `Stale since ${stamp(new Date(since))}`);
    document.body.dataset.stale = "1";
    document.querySelectorAll("[data-live][data-partial], [data-figure]").forEach((each) => each.classList.add("is-stale"));
  }

  pause(reason) {
    this.paused = true;
    this.refresher.halted = true;
    show("paused", reason);
    this.socket?.close();
    this.socket = null;
  }

  resume() {
    this.paused = false;
    this.refresher.halted = false;
    this.retryAt = 0;
    this.lostAt = Date.now();
    show("reconnecting", "Reconnecting (0 s)");
    this.open();
  }
}

const topics = (document.body.dataset.liveTopics ?? "").split(" ").filter(Boolean);
if (topics.length && button) {
  const start = document.body.dataset.liveCursor;
  const connection = new Connection(topics, start ? Number(start) : null);
  connection.open();
  setInterval(() => connection.second(), 1000);

  button.addEventListener("click", () => {
    if (shown === "signed-out") location.reload();
    else if (connection.paused) connection.resume();
    else connection.pause("Paused");
  });

  let leaving = null;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(leaving);
    if (document.hidden) {
      leaving = setTimeout(() => connection.paused || connection.pause("Paused (hidden tab)"), HIDDEN_CLOSE_MS);
    } else if (connection.paused && button.textContent.includes("hidden")) {
      connection.resume();
    } else {
      [...connection.refresher.dirty].forEach((topic) => connection.refresher.mark(topic));
    }
  });

  window.addEventListener("pagehide", () => connection.socket?.close());
  window.addEventListener("pageshow", (event) => event.persisted && !connection.paused && connection.resume());
}
