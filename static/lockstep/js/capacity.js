// The numbers of a capacity event, drawn at once and all together: counts, shares, ratios and the bar.
// Money waits for the part that follows: it needs the rate of each GPU model.

const STATES = ["busy", "idle_allocated", "unknown_allocated", "starting", "reserved", "placeable", "stranded", "unavailable"];
const count = (value) => value.toLocaleString("en-GB");

/** 0.8437 -> "84.4 %": the same wording as the server's `share`. */
function share(part, whole) {
  if (!whole) return "unknown";
  const percent = (100 * part) / whole;
  if (percent > 99.9 && percent < 100) return "99.9 %";
  if (percent > 0 && percent < 0.1) return "< 0.1 %";
  return `${percent.toFixed(1)} %`;
}

function derived(data) {
  const sum = (names) => names.reduce((total, name) => total + data[name], 0);
  return {
    ...data,
    eligible: data.installed - data.unavailable,
    allocated: sum(["busy", "idle_allocated", "unknown_allocated", "starting"]),
    wasted: sum(["idle_allocated", "stranded"]),
    free: sum(["placeable", "stranded"]),
  };
}

export function drawCapacity(data) {
  if (!STATES.every((state) => typeof data[state] === "number")) return;
  const numbers = derived(data);
  for (const place of document.querySelectorAll("[data-value]")) {
    const value = numbers[place.dataset.value];
    if (typeof value === "number") place.textContent = count(value);
  }
  for (const place of document.querySelectorAll("[data-ratio]")) {
    const [part, whole] = place.dataset.ratio.split("/");
    place.textContent = share(numbers[part], numbers[whole]);
  }
  drawBar(numbers);
}

function drawBar(numbers) {
  let at = 0;
  for (const state of STATES) {
    const width = numbers.installed ? (100 * numbers[state]) / numbers.installed : 0;
    const link = document.querySelector(`.bar a[data-key="${state}"]`);
    for (const rect of link?.querySelectorAll("rect") ?? []) {
      rect.setAttribute("x", `${at.toFixed(3)}%`);
      rect.setAttribute("width", `${width.toFixed(3)}%`);
    }
    const text = link?.querySelector("text");
    if (text) {
      text.setAttribute("x", `${(at + 0.8).toFixed(3)}%`);
      text.textContent = width >= 5.5 ? count(numbers[state]) : "";
    }
    at += width;
  }
}
