// The engine's clock on this page, and times in words. The clock may run faster than the wall's.

const zone = document.body.dataset.zone || "UTC";
const clockFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: zone });
const longFormat = new Intl.DateTimeFormat("en-GB", {
  weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZone: zone,
});

/** "14:02 UTC" in the reader's zone. */
export const stamp = (date) => `${clockFormat.format(date)} ${zone}`;

let anchor = { now: null, at: 0 };

function readAnchor() {
  const { clockNow, clockRate } = document.body.dataset;
  if (!clockNow || anchor.raw === clockNow) return;
  anchor = { raw: clockNow, now: Date.parse(clockNow), at: performance.now(), rate: Number(clockRate || 1) };
}

/** The engine's time now, as a Date; null before the first tick. */
export function engineNow() {
  readAnchor();
  if (!anchor.now) return null;
  return new Date(anchor.now + (performance.now() - anchor.at) * anchor.rate);
}

/** 95 -> "1 min", 8100 -> "2 h 15 min": the same wording as the server's `duration` filter. */
export function duration(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) {
    const min = Math.floor((s % 3600) / 60);
    return min ? `${Math.floor(s / 3600)} h ${min} min` : `${Math.floor(s / 3600)} h`;
  }
  const h = Math.floor((s % 86400) / 3600);
  return h ? `${Math.floor(s / 86400)} d ${h} h` : `${Math.floor(s / 86400)} d`;
}

function tickTimes() {
  const now = engineNow();
  // Without the server the clock is only a guess: it stands still until somebody knows better.
  if (!now || document.hidden || document.body.dataset.stale) return;
  for (const element of document.querySelectorAll("time[data-since]")) {
    const words = duration((now - Date.parse(element.dateTime)) / 1000);
    const text = element.dataset.since === "ago" ? `${words} ago` : words;
    if (element.textContent !== text) element.textContent = text;
  }
  for (const element of document.querySelectorAll("[data-engine-clock]")) element.textContent = `${longFormat.format(now)} ${zone}`;
}

setInterval(tickTimes, 1000);
