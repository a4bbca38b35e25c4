"use strict";
(() => {
  const at = id => document.getElementById(id);
  const inks = ["--one", "--two", "--three", "--four", "--five", "--six"];
  const ink = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // What the events told.
  let rows = [], state = null, name = "blockbp watch";
  // What the reader chose.
  let axis = "pass", measure = "";

  // known is a number, or null for what is not known.
  const known = v => (typeof v === "number" && Number.isFinite(v) ? v : null);

  function digits(v) {
    if (known(v) === null) return "–";
    if (v === 0) return "0";
    const size = Math.abs(v);
    return size >= 1e6 || size < 1e-3 ? v.toExponential(2).replace(/\.?0*e\+?/, "e") : String(Number(v.toPrecision(5)));
  }

  function time(s) {
    if (known(s) === null) return "–";
    if (s < 60) return (s < 10 ? s.toFixed(2) : s.toFixed(1)) + " s";
    const whole = Math.floor(s), two = n => String(n).padStart(2, "0");
    return whole < 3600
      ? `${Math.floor(whole / 60)} min ${two(whole % 60)} s`
      : `${Math.floor(whole / 3600)} h ${two(Math.floor(whole / 60) % 60)} min`;
  }

  // lastOf is the last value that is known of a field.
  function lastOf(field) {
    for (let i = rows.length - 1; i >= 0; i--) {
      if (known(rows[i][field]) !== null) return rows[i][field];
    }
    return null;
  }

  // final is a number of the result where the run has ended, else the last of the metrics.
  function final(key, field) {
    const end = state && state.result ? known(state.result[key]) : null;
    return end === null ? lastOf(field) : end;
  }

  // evaluations are the latest values: measure → set → value.
  function evaluations() {
    const found = new Map();
    const put = (set, what, value) => {
      if (!found.has(what)) found.set(what, new Map());
      found.get(what).set(set, value);
    };
    for (const row of rows) {
      for (const key of Object.keys(row)) {
        if (!key.startsWith("eval.")) continue;
        const dot = key.lastIndexOf(".");
        put(key.slice(5, dot), key.slice(dot + 1), row[key]);
      }
    }
    for (const [key, value] of Object.entries((state && state.result && state.result.eval) || {})) {
      const split = key.indexOf("@");
      if (split > 0) put(key.slice(split + 1), key.slice(0, split), value);
    }
    return found;
  }

  // A chart is a section of the page with curves: it is made when it has something to
  // show, and made anew where other curves or colours are wanted.
  const charts = new Map();

  function draw(id, labels, data, log) {
    const section = at(id), place = section.querySelector(".chart");
    const some = data.slice(1).some(ys => ys.some(y => y !== null));
    section.hidden = !some;
    if (!some) return;
    const wanted = JSON.stringify([labels, axis, dark.matches]);
    let chart = charts.get(id);
    if (chart && chart.wanted !== wanted) {
      chart.plot.destroy();
      chart = null;
    }
    if (chart) {
      chart.plot.setData(data);
      return;
    }
    const plot = new uPlot(options(place, labels, log), data, place);
    charts.set(id, { plot, wanted });
  }

  function options(place, labels, log) {
    const line = { stroke: ink("--quiet"), grid: { stroke: ink("--grid"), width: 1 }, ticks: { stroke: ink("--grid"), width: 1 } };
    const tick = v => (v === null || v === undefined ? "" : digits(v));
    const value = (u, v) => digits(v);
    // Lines and letters of a logarithm stand at powers of ten.
    const powers = (u, splits) => splits.map(v => (v > 0 && Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-6 ? v : null));
    const y = log ? { ...line, filter: powers, grid: { ...line.grid, filter: powers }, ticks: { ...line.ticks, filter: powers } } : line;
    return {
      width: place.clientWidth, height: height(place),
      cursor: { points: { size: 7 } },
      scales: { x: { time: false }, y: log ? { distr: 3 } : {} },
      axes: [
        { ...line, values: (u, vs) => vs.map(tick), label: axis === "pass" ? "passes" : "seconds", labelSize: 22, size: 34 },
        { ...y, values: (u, vs) => vs.map(tick), size: 64 },
      ],
      series: [
        { label: axis === "pass" ? "passes" : "seconds", value },
        ...labels.map((label, i) => ({
          label, value, stroke: ink(inks[i % inks.length]), width: 1.75, spanGaps: true,
          dash: i < inks.length ? undefined : [6, 4],
        })),
      ],
    };
  }

  const height = place => (place.clientWidth < 480 ? 220 : 280);

  new ResizeObserver(() => {
    for (const [id, { plot }] of charts) {
      const place = at(id).querySelector(".chart");
      if (place.clientWidth > 0 && place.clientWidth !== plot.width) plot.setSize({ width: place.clientWidth, height: height(place) });
    }
  }).observe(at("charts"));

  function drawCurves(latest) {
    const shown = rows.filter(row => known(row[axis]) !== null);
    const xs = shown.map(row => row[axis]);
    const column = field => shown.map(row => known(row[field]));
    const above = v => (v !== null && v > 0 ? v : null); // what a logarithm has
    const last = final("objective", "objective");
    const gap = column("objective").map(v => (v === null || last === null ? null : above(Math.abs(v - last))));
    const bound = column("suboptimality").map(above);
    const curves = bound.some(v => v !== null) ? [["distance", gap], ["proved bound", bound]] : [["distance", gap]];
    draw("gap", curves.map(c => c[0]), [xs, ...curves.map(c => c[1])], true);
    draw("gradient", ["norm"], [xs, column("grad_norm").map(above)], true);
    const sets = latest.has(measure) ? [...latest.get(measure).keys()].sort() : [];
    draw("evaluation", sets, [xs, ...sets.map(set => column(`eval.${set}.${measure}`))], false);
  }

  function showNumbers() {
    at("iter").textContent = rows.length ? String(final("iterations", "iter")) : "–";
    at("pass").textContent = digits(final("passes", "pass"));
    at("wall_s").textContent = time(final("seconds", "wall_s"));
    for (const key of ["objective", "grad_norm", "suboptimality"]) at(key).textContent = digits(final(key, key));
  }

  function cell(tag, text) {
    const made = document.createElement(tag);
    made.textContent = text;
    return made;
  }

  function rowOf(cells) {
    const row = document.createElement("tr");
    row.append(...cells);
    return row;
  }

  function showEvaluations(latest) {
    const measures = [...latest.keys()];
    at("latest").hidden = measures.length === 0;
    const select = at("measure");
    if (measures.length && !latest.has(measure)) measure = latest.has("accuracy") ? "accuracy" : measures[0];
    if ([...select.options].map(o => o.value).join("\n") !== measures.join("\n")) {
      select.replaceChildren(...measures.map(m => new Option(m.replaceAll("_", " "), m)));
    }
    select.value = measure;
    const sets = [...new Set(measures.flatMap(m => [...latest.get(m).keys()]))].sort();
    const table = at("latest").querySelector("table");
    table.tHead.replaceChildren(rowOf(["measure", ...sets].map(s => cell("th", s))));
    table.tBodies[0].replaceChildren(...measures.map(m => rowOf([cell("th", m.replaceAll("_", " ")), ...sets.map(s => cell("td", digits(latest.get(m).get(s))))])));
  }

  function showState(phase, label, text, status) {
    at("label").textContent = label;
    at("label").dataset.phase = phase;
    at("label").dataset.status = status || "";
    at("text").textContent = text;
    document.title = `${label} · ${name}`;
  }

  // show draws once for all events of a moment.
  let due = false;
  function show() {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      const latest = evaluations();
      if (state) showState(state.phase, state.label, state.text, state.result && state.result.status);
      showNumbers();
      showEvaluations(latest);
      drawCurves(latest);
    });
  }

  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", show);
  for (const choice of document.querySelectorAll("input[name=x]")) {
    choice.addEventListener("change", () => { axis = choice.value; show(); });
  }
  at("measure").addEventListener("change", event => { measure = event.target.value; show(); });

  const events = new EventSource("events");
  const on = (type, take) => events.addEventListener(type, event => { take(JSON.parse(event.data)); show(); });
  on("about", about => {
    name = about.name;
    at("name").textContent = about.name;
    at("name").title = about.folder;
    at("what").textContent = [about.method && `method ${about.method}`, about.data.length && `data ${about.data.join(", ")}`].filter(Boolean).join(" · ");
  });
  on("rows", message => { rows = message.anew ? message.rows : rows.concat(message.rows); });
  on("state", told => { state = told; });
  events.addEventListener("error", () => {
    state = null;
    showState("lost", "connection lost", "blockbp watch does not answer. Start it again with the same --port, and the page goes on.");
  });
})();
