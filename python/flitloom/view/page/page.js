// The page: one state, drawn by views that know nothing of each other.

import { LinkTimeChart, SpaceTimeChart, histogram } from "./charts.js";
import { scaleColour, siteColour, sliceColour, theme } from "./colours.js";
import { Run, Steps, Tables, largest, shownOf, unpack } from "./data.js";
import { TorusView, measure } from "./torus.js";

const find = (id) => document.getElementById(id);
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

const state = { cycle: 0, mode: "now", run: 0, link: null, packet: null, path: null, node: null, playing: false };
let runs = [];
let panels = [];
let cycles = 1;
let most = 1;
let waiting = false;

/** Tell whoever shows this page in a frame (a widget of a notebook) what is looked at. */
function report() {
  if (parent === window || !runs.length) return;
  const link = state.link == null ? "" : runs[state.run].fabric.linkName(state.link);
  const { cycle, playing } = state;
  parent.postMessage({ flitloom: { cycle, playing, link } }, "*");
}

/** Do what the frame around this page asks for. */
function obey(event) {
  const asked = event.data?.flitloom;
  if (event.source !== parent || parent === window || !asked || !runs.length) return;
  if (asked.playing !== undefined && asked.playing !== state.playing) play(asked.playing);
  if (Number.isInteger(asked.cycle) && asked.cycle !== state.cycle) show(asked.cycle);
}

/** Draw everything once before the next frame. */
function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    if (waiting) draw();
  });
}

function draw() {
  waiting = false;
  const colours = theme();
  measure(panels.flatMap((panel) => panel.canvases));
  panels.forEach((panel, index) => {
    const here = index === state.run;
    const link = here || state.packet == null ? state.link : null;
    const path = here ? state.path : null;
    const target = here && state.packet != null ? panel.run.destination?.(state.packet) : null;
    panel.torus.draw({ ...state, link, path, node: here ? state.node : null, target, most, colours });
    panel.linkTime?.draw({ cycle: state.cycle, link, colours });
    panel.spaceTime?.draw({
      cycle: state.cycle,
      link: state.link ?? panel.busiest,
      packet: here ? state.packet : null,
      colours,
    });
    if (panel.now) panel.now.textContent = panel.run.describeNow(state.cycle);
  });
  const slider = find("cycle");
  slider.value = String(state.cycle);
  slider.setAttribute("aria-valuetext", `${runs[0]?.time ?? "cycle"} ${state.cycle} of ${cycles - 1}`);
  find("number").textContent = `${state.cycle} / ${cycles - 1}`;
  report();
}

function show(cycle) {
  state.cycle = Math.min(Math.max(cycle, 0), cycles - 1);
  redraw();
}

/** Play the cycles, or pause. */
export function play(on) {
  state.playing = on;
  const button = find("play");
  button.textContent = on ? "Pause" : "Play";
  button.setAttribute("aria-pressed", String(on));
  redraw();
  if (!on) return tell();
  if (state.cycle >= cycles - 1) state.cycle = 0;
  let before = performance.now();
  let part = 0;
  const tick = (now) => {
    if (!state.playing) return;
    part += ((now - before) / 1000) * Number(find("speed").value);
    before = now;
    const whole = Math.floor(part);
    part -= whole;
    if (whole) show(state.cycle + whole);
    if (state.cycle >= cycles - 1) play(false);
    else requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

/** Choose a link of a run, and the packet on it. */
function choose(index, link, packet = null) {
  const run = runs[index];
  Object.assign(state, { run: index, link, packet: null, path: null });
  if (run.time && link != null) {
    state.packet = packet ?? run.packetsOn(link, state.cycle)[0] ?? null;
    if (state.packet != null) state.path = run.path(state.packet);
  }
  tell();
  redraw();
}

/** Say in words what is chosen. */
function tell() {
  const run = runs[state.run];
  const lines = [];
  if (state.link != null) {
    lines.push(...run.describeLink(state.link, state.cycle, state.packet));
  } else if (state.path) {
    lines.push(`Route over ${state.path.length} links: ${state.path.map((link) => run.fabric.linkName(link)).join(", ")}.`);
  }
  if (lines.length && runs.length > 1) lines.unshift(`${run.title}.`);
  find("inspector").textContent = lines.join(" ") || "Point at a link, or choose one with the arrow keys, to see its flits.";
}

function factsTable() {
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.facts)))];
  const head = make("tr", {}, make("th", { scope: "col", textContent: "" }));
  for (const run of runs) head.append(make("th", { scope: "col", textContent: run.title }));
  const body = names.map((name) => {
    const row = make("tr", {}, make("th", { scope: "row", textContent: name }));
    for (const run of runs) {
      row.append(make("td", { textContent: String(run.facts[name] ?? "-") }));
    }
    row.dataset.fact = name;
    return row;
  });
  find("facts").replaceChildren(...(runs.length > 1 ? [make("thead", {}, head)] : []), make("tbody", {}, ...body));
}

/** Links by load, as a table whose rows choose a link: the busiest, or the least busy of a plan. */
function loadedTable(run, index) {
  const isPlan = run instanceof Steps;
  const rows = (isPlan ? run.leastBusy(10) : largest(run.flits, 10)).map((link) => {
    const button = make("button", { type: "button", textContent: run.fabric.linkName(link) });
    button.addEventListener("click", () => choose(index, link));
    return make("tr", {}, make("td", {}, button), make("td", { textContent: String(run.flits[link]) }));
  });
  const word = run instanceof Tables ? "load" : run.unit;
  const head = make("tr", {}, make("th", { scope: "col", textContent: "link" }), make("th", { scope: "col", textContent: word }));
  return make("details", {}, make("summary", { textContent: isPlan ? "Least busy links" : "Most loaded links" }), make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}

function panel(run, index) {
  const figure = make("section", { className: "run" });
  if (runs.length > 1) figure.append(make("h2", { textContent: run.title }));
  const torus = make("canvas", { className: "torus", tabIndex: 0 });
  torus.setAttribute("role", "img");
  torus.setAttribute("aria-label", `${run.title}: the network with its links; arrow keys choose a node, D its next link`);
  const beside = make("div");
  figure.append(torus, beside);
  const made = { run, canvases: [torus], torus: new TorusView(torus, run) };
  torus.addEventListener("pointermove", (event) => {
    const link = made.torus.hit(event.offsetX, event.offsetY);
    if (link !== state.link || index !== state.run) choose(index, link);
  });
  torus.addEventListener("keydown", (event) => walk(event, run, index));
  if (run.time) {
    made.now = make("p", { className: "now" });
    beside.append(made.now);
  }
  made.busiest = run.flits.indexOf(run.mostFlits);
  if (run.bottleneck_link != null) made.busiest = run.bottleneck_link;
  if (run.deadlock?.links.length) made.busiest = run.deadlock.links[0];
  if (run.time) {
    const charts = [["linkTime", LinkTimeChart, `Links over time: what every link does in every ${run.time}`]];
    if (run instanceof Run) {
      charts.push(["spaceTime", SpaceTimeChart, "Space over time: packets along the ring or row of the chosen link"]);
    }
    for (const [name, kind, words] of charts) {
      const canvas = make("canvas", { className: name });
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `${run.title}. ${words}`);
      beside.append(make("h3", { textContent: words }), canvas);
      made[name] = new kind(canvas, run, cycles);
      made.canvases.push(canvas);
      canvas.addEventListener("pointerdown", (event) => {
        show(made[name].cycleAt(event.offsetX));
        if (name === "linkTime") choose(index, made.linkTime.linkAt(event.offsetY));
      });
    }
  } else if (run.columns.load) {
    const bars = make("div", { className: "histogram" });
    const working = Array.from(run.flits).filter((_, link) => run.fabric.exists(link));
    made.recolour = () => {
      bars.innerHTML = histogram(working, most, scaleColour);
    };
    made.recolour();
    beside.append(make("h3", { textContent: "Links by load" }), bars);
  }
  if (run.deadlock) {
    const list = run.deadlock.words.map((text) => make("li", { textContent: text }));
    beside.append(make("h3", { textContent: "The cycle of waiting channels" }), make("ol", { className: "deadlock" }, ...list));
  }
  if (run.time || run.columns.load) beside.append(loadedTable(run, index));
  find("runs").append(figure);
  return made;
}

/** Arrow keys choose a node, D its next link, Enter the next packet there. */
function walk(event, run, index) {
  const { fabric } = run;
  const next = fabric.neighbour(state.node ?? 0, event.key);
  const links = fabric.leaving(state.node ?? 0);
  const turn = state.link == null ? -1 : links.indexOf(state.link);
  if (/^(Arrow|Page)/.test(event.key)) {
    if (state.node == null) state.node = 0;
    else if (next >= 0) state.node = next;
    const here = fabric.leaving(state.node);
    choose(index, here[Math.min(Math.max(turn, 0), here.length - 1)] ?? null);
  } else if (event.key === "d" || event.key === "D") {
    state.node ??= 0;
    choose(index, links[(turn + 1) % links.length] ?? null);
  } else if (event.key === "Enter" && run.time && state.link != null) {
    const here = run.packetsOn(state.link, state.cycle);
    if (here.length) choose(index, state.link, here[(here.indexOf(state.packet) + 1) % here.length]);
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

function legend() {
  const entries = [];
  const swatch = (colour, text, kind = "swatch") => {
    const box = make("span", { className: kind });
    box.style.color = colour;
    entries.push(make("span", { className: "entry" }, box, text));
  };
  if (state.mode === "now") {
    const slices = Math.min(Math.max(...runs.map((run) => run.slices ?? 0)), 7);
    for (let slice = 0; slice < slices; slice++) swatch(sliceColour(slice), slices > 1 ? `slice ${slice + 1}` : (runs[0].busy ?? "busy"));
    if (runs[0] instanceof Steps) {
      swatch(sliceColour(0), "copy");
      if (runs.some((run) => run.columns.adds.includes(1))) swatch(sliceColour(1), "partial sum");
      swatch("var(--faint)", "idle (dashed)");
    } else {
      swatch("var(--blocked)", "blocked");
      swatch("var(--idle)", "idle");
      swatch("var(--cable)", "router, larger with more buffers in use");
      swatch("var(--ink)", "target", "swatch aim");
    }
  } else if (state.mode === "load") {
    const bar = make("span", { className: "scale" });
    bar.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(scaleColour).join(",")})`;
    entries.push(make("span", { className: "entry" }, "0 ", bar, ` ${most} ${runs[0].unit}`));
  }
  if (runs.some((run) => run.bottleneck_link != null || run.bottleneck_nodes?.length || run.bound != null)) {
    swatch("var(--bound)", "bound and bottleneck", "swatch open");
  }
  const sites = runs.find((run) => run.groups && run.group_names);
  sites?.group_names.forEach((name, group) => swatch(siteColour(group), name));
  const numbers = runs.find((run) => run.numbers)?.numbers;
  if (numbers) entries.push(make("span", { className: "entry", textContent: `numbers: ${numbers}` }));
  if (runs.some((run) => run.fabric.failedNodes.size)) swatch("var(--ink)", "failed node", "swatch cross");
  if (runs.some((run) => run.deadlock)) swatch("var(--mark)", "deadlock");
  find("legend").replaceChildren(...entries);
}

function setMode(mode) {
  state.mode = mode;
  find("mode").value = mode;
  legend();
  redraw();
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  find("theme").setAttribute("aria-pressed", String(dark));
}

function connect() {
  find("cycle").addEventListener("input", (event) => show(Number(event.target.value)));
  find("cycle").addEventListener("change", () => choose(state.run, state.link));
  find("play").addEventListener("click", () => play(!state.playing));
  find("back").addEventListener("click", () => (show(state.cycle - 1), tell()));
  find("forward").addEventListener("click", () => (show(state.cycle + 1), tell()));
  find("mode").addEventListener("change", (event) => setMode(event.target.value));
  find("theme").addEventListener("click", () => {
    setTheme(document.documentElement.dataset.theme !== "dark");
    legend();
    for (const panel of panels) panel.recolour?.();
    redraw();
  });
  find("pair")?.addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["source", "destination"]) find(id).addEventListener("input", chosenPair);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|BUTTON|SUMMARY|TEXTAREA)$/.test(event.target.tagName)) return;
    const actions = {
      " ": () => play(!state.playing),
      ArrowRight: () => (show(state.cycle + (event.shiftKey ? 10 : 1)), tell()),
      ArrowLeft: () => (show(state.cycle - (event.shiftKey ? 10 : 1)), tell()),
      Home: () => (show(0), tell()),
      End: () => (show(cycles - 1), tell()),
      c: () => runs[0].time && setMode(state.mode === "now" ? "load" : "now"),
    };
    if (!(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  });
  window.addEventListener("resize", redraw);
  window.addEventListener("message", obey);
}

/** The route between the two nodes asked for, in every table. */
function chosenPair() {
  const { nodes } = runs[0].fabric;
  const [source, destination] = ["source", "destination"].map((id) => Number(find(id).value));
  const inside = (node) => Number.isInteger(node) && node >= 0 && node < nodes;
  state.link = null;
  state.path = inside(source) && inside(destination) ? runs[state.run].between(source, destination) : null;
  tell();
  redraw();
}

/** Show runs or tables; returns the state for whoever drives the page. */
export function start(made) {
  runs = made;
  const moving = Boolean(runs[0].time);
  const word = runs[0].time ?? "cycle";
  cycles = moving ? Math.max(...runs.map((run) => run.cycles), 1) : 1;
  most = Math.max(...runs.map((run) => run.mostFlits), 1);
  find("cycle").max = String(cycles - 1);
  find("time").hidden = !moving;
  document.querySelector("label[for=cycle]").textContent = word[0].toUpperCase() + word.slice(1);
  find("back").setAttribute("aria-label", `One ${word} back`);
  find("forward").setAttribute("aria-label", `One ${word} on`);
  // Steps are few, and each is looked at.
  if (word === "step") find("speed").value = "2";
  find("mode").parentElement.hidden = !moving;
  find("pair").hidden = moving || !runs[0].legs;
  factsTable();
  const facts = find("facts").parentElement;
  find("controls").before(facts);
  find("runs").replaceChildren();
  Object.assign(state, { cycle: 0, run: 0, link: null, packet: null, path: null, node: null });
  panels = runs.map(panel);
  const alone = runs.length === 1;
  find("runs").className = alone ? `alone${panels[0].torus.flat ? " flat" : ""}` : "";
  // A single run has room for its numbers beside the network.
  if (alone) find("runs").firstElementChild.prepend(facts);
  setMode(moving ? "now" : runs[0].columns.load ? "load" : "cables");
  const stuck = runs.find((run) => run.deadlock);
  if (stuck) show(cycles - 1);
  tell();
  draw();
  // For whoever looks at the page with a console, or a test.
  globalThis.flitloomPanels = panels;
  document.body.dataset.ready = "yes";
  return state;
}

export async function main() {
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
  connect();
  const head = JSON.parse(find("head").textContent);
  if (!head.runs.length) return;
  const buffer = await unpack(find("columns").textContent);
  start(head.runs.map((run) => shownOf(run, buffer)));
}
