"use strict";
(() => {
  const at = id => document.getElementById(id);
  const inks = ["--one", "--two", "--three", "--four", "--five", "--six"];
  const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const ink = i => color(inks[i % inks.length]);

  // What the events told, of each run.
  const runs = [];
  function run(i) {
    while (runs.length <= i) runs.push({ name: "", what: "", folder: "", rows: [], state: null });
    return runs[i];
  }
  // What the reader chose.
  let axis = "pass", measure = "";

  // known is a number, or null for what is not known.
  const known = v => (typeof v === "number" && Number.isFinite(v) ? v : null);
  const words = text => text.replaceAll("_", " ");

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

  // final is a number of the result where a run has ended, else the last that is known of a field of its metrics.
  function final(r, key, field) {
    const end = r.state && r.state.result ? known(r.state.result[key]) : null;
    if (end !== null) return end;
    for (let i = r.rows.length - 1; i >= 0; i--) {
      if (known(r.rows[i][field]) !== null) return r.rows[i][field];
    }
    return null;
  }

  // left is what time is left of a run.
  const left = r => (r.state && r.state.left ? r.state.left.replace(" left", "") : r.state && r.state.phase === "running" ? "not known yet" : "–");

  // evaluations are the values of a run: measure → set → latest and best.
  function evaluations(r) {
    const found = new Map();
    const put = (set, what, value, pass) => {
      if (!found.has(what)) found.set(what, new Map());
      const of = found.get(what), before = of.get(set);
      const better = !before || (/loss|error|cost/.test(what) ? value < before.best : value > before.best);
      of.set(set, { value, best: better ? value : before.best, pass: better ? pass : before.pass });
    };
    for (const row of r.rows) {
      for (const key of Object.keys(row)) {
        if (!key.startsWith("eval.") || known(row[key]) === null) continue;
        const dot = key.lastIndexOf(".");
        put(key.slice(5, dot), key.slice(dot + 1), row[key], row.pass);
      }
    }
    for (const [key, value] of Object.entries((r.state && r.state.result && r.state.result.eval) || {})) {
      const split = key.indexOf("@");
      if (split > 0 && known(value) !== null) put(key.slice(split + 1), key.slice(0, split), value, final(r, "passes", "pass"));
    }
    return found;
  }

  // A chart is a section of the page with curves: it is made when it has something to
  // show, and made anew where other curves or colours are wanted.
  const charts = new Map();

  // draw shows curves, of a label, x, y, the number of a colour and perhaps dashes, on the same axes.
  function draw(id, curves, log) {
    curves = curves.filter(c => c.y.some(y => y !== null));
    const section = at(id), place = section.querySelector(".chart");
    section.hidden = curves.length === 0;
    if (section.hidden) return;
    const data = curves.every(c => c.x === curves[0].x) ? [curves[0].x, ...curves.map(c => c.y)] : uPlot.join(curves.map(c => [c.x, c.y]));
    const wanted = JSON.stringify([curves.map(c => [c.label, few(c)]), axis, dark.matches]);
    let chart = charts.get(id);
    if (chart && chart.wanted !== wanted) {
      chart.plot.destroy();
      chart = null;
    }
    if (chart) {
      chart.plot.setData(data);
      return;
    }
    const plot = new uPlot(options(place, curves, log), data, place);
    charts.set(id, { plot, wanted });
  }

  // few reports whether a curve has so few values that each is marked: one alone makes no line.
  const few = c => c.y.filter(y => y !== null).length < 30;

  function options(place, curves, log) {
    const line = { stroke: color("--quiet"), grid: { stroke: color("--grid"), width: 1 }, ticks: { stroke: color("--grid"), width: 1 } };
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
        ...curves.map(c => ({
          label: c.label, value, stroke: ink(c.ink), width: 1.75, spanGaps: true, dash: c.dashed || c.ink >= inks.length ? [6, 4] : undefined,
          ...(few(c) && { points: { show: true, size: 5 } }),
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
    const gap = [], gradient = [], evaluation = [];
    const above = v => (v !== null && v > 0 ? v : null); // what a logarithm has
    runs.forEach((r, i) => {
      const shown = r.rows.filter(row => known(row[axis]) !== null);
      const x = shown.map(row => row[axis]);
      const column = field => shown.map(row => known(row[field]));
      const last = final(r, "objective", "objective");
      const add = (to, label, y, more) => to.push({ label: runs.length > 1 ? [r.name, label].filter(Boolean).join(", ") : label, x, y, ink: i, ...more });
      const several = runs.length > 1;
      add(gap, several ? "" : "distance", column("objective").map(v => (v === null || last === null ? null : above(Math.abs(v - last)))));
      add(gap, several ? "bound" : "proved bound", column("suboptimality").map(above), several ? { dashed: true } : { ink: 1 });
      add(gradient, several ? "" : "norm", column("grad_norm").map(above));
      const sets = latest[i].has(measure) ? [...latest[i].get(measure).keys()].sort() : [];
      sets.forEach((set, k) => {
        const y = column(`eval.${set}.${measure}`), end = r.state && r.state.result && r.state.result.eval;
        if (y.length && y.at(-1) === null && end) y[y.length - 1] = known(end[`${measure}@${set}`]);
        add(evaluation, set, y, several ? { dashed: k > 0 } : { ink: k });
      });
    });
    draw("gap", gap, true);
    draw("gradient", gradient, true);
    draw("evaluation", evaluation, false);
  }

  function showNumbers(latest) {
    const one = runs.length === 1;
    at("numbers").hidden = !one;
    at("runs").hidden = one;
    const best = i => [...((latest[i].get(measure)) || new Map())].map(([set, v]) => `${digits(v.best)}${latest[i].get(measure).size > 1 ? " " + set : ""}`).join(", ") || "–";
    const cells = (r, i) => [r.rows.length ? String(final(r, "iterations", "iter")) : "–", digits(final(r, "passes", "pass")), time(final(r, "seconds", "wall_s")),
      ...["objective", "grad_norm", "suboptimality"].map(key => digits(final(r, key, key))), left(r), best(i)];
    const names = ["iter", "pass", "wall_s", "objective", "grad_norm", "suboptimality", "left", "best"];
    at("best-of").textContent = measure ? `best ${words(measure)}` : "best value";
    if (one) {
      cells(runs[0], 0).forEach((text, k) => { at(names[k]).textContent = text; });
      return;
    }
    const table = at("runs").querySelector("table");
    table.tHead.replaceChildren(rowOf(["run", "status", "iteration", "passes", "time", "objective L", "left to gain", "time left", at("best-of").textContent].map(s => cell("th", s))));
    table.tBodies[0].replaceChildren(...runs.map((r, i) => {
      const name = cell("th", r.name), mark = document.createElement("i");
      mark.style.background = ink(i);
      name.prepend(mark);
      name.title = r.folder;
      const all = cells(r, i);
      all.splice(4, 1); // the gradient norm, for want of room
      return rowOf([name, ...[r.state ? r.state.label : "–", ...all].map(s => cell("td", s))]);
    }));
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
    const measures = [...new Set(latest.flatMap(l => [...l.keys()]))];
    at("latest").hidden = measures.length === 0;
    const select = at("measure");
    if (measures.length && !measures.includes(measure)) measure = ["entity_f1", "accuracy"].find(m => measures.includes(m)) || measures[0];
    if ([...select.options].map(o => o.value).join("\n") !== measures.join("\n")) {
      select.replaceChildren(...measures.map(m => new Option(words(m), m)));
    }
    select.value = measure;
    const columns = latest.flatMap((l, i) => [...new Set([...l.values()].flatMap(of => [...of.keys()]))].sort().map(set => ({ l, set, head: runs.length > 1 ? `${runs[i].name}, ${set}` : set })));
    const table = at("latest").querySelector("table");
    table.tHead.replaceChildren(rowOf(["measure", ...columns.map(c => c.head)].map(s => cell("th", s))));
    table.tBodies[0].replaceChildren(...measures.map(m => rowOf([cell("th", words(m)), ...columns.map(({ l, set }) => {
      const v = l.get(m) && l.get(m).get(set), made = cell("td", v ? digits(v.value) : "–");
      if (v && v.best !== v.value) made.append(cell("small", `best ${digits(v.best)}, pass ${digits(v.pass)}`));
      return made;
    })])));
  }

  // showPictures shows those that runs have drawn, and again where they are others.
  let drawn = "";
  function showPictures() {
    const all = runs.flatMap((r, i) => Object.entries((r.state && r.state.pictures) || {}).map(([name, path]) => [`pictures/${i}/${path}`, [runs.length > 1 && r.name, name.replace(/\.svg$/, "")].filter(Boolean).join(", ")]));
    if (JSON.stringify(all) === drawn) return;
    drawn = JSON.stringify(all);
    at("pictures").replaceChildren(...all.map(([path, name]) => {
      const figure = document.createElement("figure"), image = new Image();
      image.src = path;
      image.alt = name;
      const caption = cell("figcaption", name);
      caption.className = "quiet";
      figure.append(caption, image);
      return figure;
    }));
  }

  function showState(phase, label, text, status) {
    at("label").textContent = label;
    at("label").dataset.phase = phase;
    at("label").dataset.status = status || "";
    at("text").textContent = text;
    document.title = `${label} · ${at("name").textContent}`;
  }

  // showStates tells of the only run, or how many of several are at work.
  function showStates() {
    at("name").textContent = runs.length === 1 ? runs[0].name || "blockbp watch" : `${runs.length} runs`;
    at("name").title = runs.map(r => r.folder).join(", ");
    at("what").textContent = [...new Set(runs.map(r => r.what))].filter(Boolean).join("; ");
    if (runs.some(r => !r.state)) return;
    const s = runs[0].state, busy = runs.filter(r => r.state.phase === "running").length;
    if (runs.length === 1) showState(s.phase, s.label, s.text, s.result && s.result.status);
    else if (busy) showState("running", "running", `${busy} of ${runs.length}`);
    else showState("ended", "none is running", "", runs.every(r => r.state.label === s.label) && s.result && s.result.status);
  }

  // show draws once for all events of a moment.
  let due = false;
  function show() {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      const latest = runs.map(evaluations);
      showStates();
      showEvaluations(latest);
      showNumbers(latest);
      drawCurves(latest);
      showPictures();
    });
  }

  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", show);
  for (const choice of document.querySelectorAll("input[name=x]")) {
    choice.addEventListener("change", () => { axis = choice.value; show(); });
  }
  at("measure").addEventListener("change", event => { measure = event.target.value; show(); });

  const events = new EventSource("events");
  const on = (type, take) => events.addEventListener(type, event => { const told = JSON.parse(event.data); take(run(told.run), told); show(); });
  on("about", (r, about) => {
    r.name = about.name;
    r.folder = about.folder;
    r.what = [about.method && `method ${about.method}`, about.data.length && `data ${about.data.join(", ")}`].filter(Boolean).join(" · ");
  });
  on("rows", (r, message) => { r.rows = message.anew ? message.rows : r.rows.concat(message.rows); });
  on("state", (r, told) => { r.state = told; });
  events.addEventListener("error", () => {
    for (const r of runs) r.state = null;
    showState("lost", "connection lost", "blockbp watch does not answer. Start it again with the same --port, and the page goes on.");
  });
})();
