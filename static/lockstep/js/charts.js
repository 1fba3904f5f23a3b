// Plots. Figures come as JSON from the server, name their colours as tokens ("--busy") and follow the theme.
// Plotly is four megabytes, so it is loaded only when a plot comes into view.

const figures = [...document.querySelectorAll("[data-figure]")];
let library = null;

function loadLibrary() {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = document.body.dataset.plotly;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("the drawing library did not load"));
    document.head.append(script);
  });
  return library;
}

const probe = document.createElement("span");
probe.hidden = true;
document.body.append(probe);

// A custom property keeps `light-dark(…)` unresolved; a real colour property resolves it for the theme in force.
function colour(token) {
  probe.style.color = `var(${token})`;
  return getComputedStyle(probe).color;
}

function resolve(value, seen = new Map()) {
  if (typeof value === "string" && value.startsWith("--")) {
    if (!seen.has(value)) seen.set(value, colour(value));
    return seen.get(value);
  }
  if (Array.isArray(value)) return value.map((each) => resolve(each, seen));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, resolve(each, seen)]));
  }
  return value;
}

function dressed(layout) {
  const axis = {
    gridcolor: "--line", linecolor: "--line-strong", zeroline: false, tickfont: { color: "--ink-3", size: 11 },
    title: { font: { color: "--ink-3", size: 11 } }, fixedrange: true,
  };
  return resolve({
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: "--ink-2" },
    margin: { l: 44, r: 12, t: 8, b: 32 },
    showlegend: false,
    hovermode: "x unified",
    hoverlabel: { bgcolor: "--raised", bordercolor: "--line-strong", font: { color: "--ink", size: 12 } },
    autosize: true,
    ...layout,
    xaxis: { ...axis, ...layout.xaxis, title: { ...axis.title, ...layout.xaxis?.title } },
    yaxis: { ...axis, ...layout.yaxis, title: { ...axis.title, ...layout.yaxis?.title } },
  });
}

async function draw(holder) {
  holder.dataset.drawing = "1";
  try {
    const url = new URL(holder.dataset.figure, location.href);
    const [plotly, answer] = await Promise.all([loadLibrary(), fetch(url, { credentials: "same-origin" })]);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    holder.figure = await answer.json();
    await paint(plotly, holder);
  } catch (error) {
    const waiting = holder.querySelector(".waiting");
    if (waiting) waiting.textContent = `No plot: ${error.message}. The table below has the numbers.`;
  } finally {
    delete holder.dataset.drawing;
  }
}

async function paint(plotly, holder) {
  const { data, layout } = holder.figure;
  holder.querySelector(".waiting")?.remove();
  const drawn = holder.querySelector(".plot") ?? holder.appendChild(Object.assign(document.createElement("div"), { className: "plot" }));
  const options = { displayModeBar: false, responsive: true, scrollZoom: false, showTips: false };
  await plotly.react(drawn, resolve(data), { ...dressed(layout), uirevision: "kept" }, options);
  if (!drawn.dataset.wired) {
    drawn.dataset.wired = "1";
    drawn.on("plotly_click", ({ points }) => {
      const href = points[0]?.customdata?.href ?? points[0]?.data?.meta?.href;
      if (href) location.href = href;
    });
  }
}

const watcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    target.inView = isIntersecting;
    if (isIntersecting && !target.figure && !target.dataset.drawing) draw(target);
  }
}, { rootMargin: "200px" });
figures.forEach((holder) => watcher.observe(holder));

// A plot is dearer than a number: fresh data at most every ten seconds, and only where somebody can see it.
const drawnAt = new WeakMap();
document.addEventListener("lockstep:refresh", ({ detail }) => {
  for (const holder of figures) {
    const due = performance.now() - (drawnAt.get(holder) ?? 0) > 10_000;
    if (!holder.inView || !due || !detail.includes(holder.dataset.topic) || holder.dataset.drawing) continue;
    drawnAt.set(holder, performance.now());
    draw(holder);
  }
});

export function repaint() {
  if (!library) return;
  library.then((plotly) => figures.filter((holder) => holder.figure).forEach((holder) => paint(plotly, holder)));
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
document.addEventListener("lockstep:theme", repaint);
