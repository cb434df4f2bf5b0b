// The live page: the engine inside, compiled to WebAssembly.

import { channelBound } from "./bounds.js";
import { curve, shown } from "./curves.js";
import { Run, unpack } from "./data.js";
import { LESSONS } from "./lessons.js";
import { fieldsOf, fill, readLink, writeLink } from "./links.js";
import { play, start } from "./page.js";

const find = (id) => document.getElementById(id);

/** Routers of the papers, as `flitloom simulate` has them, and of machines, as `flitloom load` has them. */
const PAPERS = { ties: "wrap", buffer: "4" };
const MACHINE = { ties: "balanced", buffer: "16" };

/** Loads of a curve, as shares of twice the load that the form asks for. */
const SHARES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

/** The engine as a function from a spec to its film: a head and the bytes of its columns. */
export async function load(bytes) {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const { memory, reserve, run, output } = instance.exports;
  return (spec) => {
    const text = new TextEncoder().encode(JSON.stringify(spec));
    const place = reserve(text.length);
    new Uint8Array(memory.buffer, place, text.length).set(text);
    const length = run();
    const answer = memory.buffer.slice(output(), output() + length);
    const size = new DataView(answer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(answer, 4, size)));
    return { head, buffer: answer.slice(4 + size) };
  };
}

/** What the form asks for. */
export function spec(form) {
  const fields = new FormData(form);
  const number = (name) => Number(fields.get(name));
  const sizes = String(fields.get("sizes")).trim().split("x").map(Number);
  const load = fields.get("kind") === "load";
  return {
    sizes,
    wraps: sizes.map(() => fields.get("shape") === "torus"),
    channels: fields.get("channels") ? number("channels") : null,
    buffer: number("buffer"),
    latency: number("latency"),
    flow_control: fields.get("flow_control"),
    arbitration: fields.get("arbitration"),
    routing: fields.get("routing"),
    ties: fields.get("ties"),
    throttle: fields.get("throttle"),
    pattern: fields.get("pattern"),
    traffic: load
      ? { kind: "load", rate: number("rate"), length: number("length"), cycles: number("cycles") }
      : {
          kind: "collective",
          payload: number("payload"),
          slices: number("slices"),
          interval: number("interval"),
          packets: number("packets"),
        },
    seed: number("seed"),
    stop_at: null,
  };
}

function title(asked) {
  const shape = `${asked.sizes.join("x")} ${asked.wraps[0] ? "torus" : "mesh"}`;
  const { traffic } = asked;
  const { channels, buffer, flow_control: control, arbitration, routing, throttle, ties } = asked;
  const more = [
    routing === "do" ? "" : `, routing ${routing}`,
    ties === "wrap" ? "" : `, ties ${ties}`,
    throttle === "none" ? "" : `, throttle ${throttle}`,
    control === "wormhole" ? "" : `, ${control}`,
    channels ? `, ${channels} ${channels > 1 ? "channels" : "channel"}` : "",
    buffer === 4 ? "" : `, buffers of ${buffer}`,
    arbitration === "C00" ? "" : `, ${arbitration}`,
  ].join("");
  if (traffic.kind === "load") return `${asked.pattern} on ${shape}, ${traffic.rate} flits per node and cycle${more}`;
  const slices = traffic.slices > 1 ? ` in ${traffic.slices} slices` : "";
  return `${asked.pattern} on ${shape}, ${traffic.payload} payload flits${slices}${more}`;
}

/** What the routers are like, in the order in which `flitloom load` tells it. */
function routerOf({ routing, ties, flow_control: control, channels, buffer }) {
  const many = channels ? `${channels} ${channels > 1 ? "channels" : "channel"}` : "the usual channels";
  return `${routing}, ties ${ties}, ${control}, ${many} of ${buffer} ${buffer > 1 ? "flits" : "flit"}`;
}

/** The command that moves the same flits in the same cycles. */
export function commandOf(asked) {
  const { kind, ...traffic } = asked.traffic;
  const given = {
    [asked.wraps[0] ? "torus" : "mesh"]: asked.sizes.join("x"),
    pattern: asked.pattern,
    ...traffic,
    channels: asked.channels,
    buffer: asked.buffer,
    latency: asked.latency,
    "flow-control": asked.flow_control,
    arbitration: asked.arbitration,
    routing: asked.routing,
    ties: asked.ties,
    throttle: asked.throttle,
    seed: asked.seed,
  };
  const words = Object.entries(given).filter(([, value]) => value != null);
  return `flitloom simulate ${words.map(([name, value]) => `--${name} ${value}`).join(" ")}`;
}

/** The cycles in which a load is measured: the second half of those in which packets are generated. */
const windowOf = ({ cycles }) => [Math.floor(cycles / 2), cycles];

/** Verdicts on the source queues of a load, as `flitloom load` has them. */
const GROWING = "growing";
const UNDECIDED = "undecided";

/** Whether a load grows: by the bound of the links, or by what the engine counted in a longer run. */
const verdictOf = ({ verdict }, rate, bound) => (bound != null && rate > bound ? GROWING : verdict);

/** What a run says of itself before all other facts; a load is measured as its curves are. */
function firstFacts(run, asked, bound) {
  const { traffic } = asked;
  const [begin, end] = traffic.kind === "load" && !run.deadlock ? windowOf(traffic) : [0, run.cycles];
  const { latency, accepted } = run.measured(begin, end);
  const load = `${shown(accepted)} flits/node/cycle`;
  if (run.deadlock) return { outcome: run.facts.outcome, "accepted load": `${load} before it` };
  const facts = { latency: latency == null ? "-" : `${shown(latency)} cycles`, "accepted load": load };
  if (traffic.kind !== "load") return { duration: run.facts.duration, "lower bound": run.facts["lower bound"], ...facts };
  if (bound != null) facts.bound = `${shown(bound)} flits/node/cycle (links)`;
  const verdict = verdictOf(run, traffic.rate, bound);
  if (verdict === GROWING) facts.latency = "none: a source queue grows for good";
  if (verdict === UNDECIDED) facts.latency = "unknown: near saturation, a longer run decides";
  facts.measured = `in cycles ${begin} to ${end}`;
  return facts;
}

/** The run that a spec asks for, with what matters most before all other facts. */
function runOf(engine, asked) {
  const { head, buffer } = engine(asked);
  if (head.error) throw new Error(head.error);
  head.title = title(asked);
  const run = new Run(head, buffer);
  run.facts = { ...firstFacts(run, asked, asked.traffic.kind === "load" ? channelBound(engine, asked) : null), ...run.facts, router: routerOf(asked) };
  run.command = commandOf(asked);
  if (asked.pattern === "hots") {
    run.target = run.fabric.node(run.fabric.sizes.map((size) => Math.floor(size / 2)));
    run.facts.target = run.fabric.nodeName(run.target);
  }
  return run;
}

/** Latency and accepted load over the offered load; only a steady load has a latency. */
export function measure(engine, asked) {
  const { rate, cycles } = asked.traffic;
  const most = Math.min(1, 2 * rate);
  const bound = channelBound(engine, asked);
  const points = SHARES.map((share) => {
    const offered = Number((share * most).toPrecision(4));
    const { head, buffer } = engine({ ...asked, traffic: { ...asked.traffic, rate: offered } });
    if (head.error) throw new Error(head.error);
    const run = new Run(head, buffer);
    const found = run.measured(...windowOf({ cycles }));
    const verdict = verdictOf(run, offered, bound);
    const latency = verdict === GROWING || verdict === UNDECIDED ? null : found.latency;
    return { offered, stuck: Boolean(head.deadlock), ...found, verdict, latency };
  });
  return { bound, points: points.filter(({ stuck }) => !stuck) };
}

/** The loads between which a network saturates, if it does: the last steady one and the first that grows. */
function bandOf(points) {
  const first = points.findIndex(({ verdict }) => verdict === GROWING);
  const steady = points.slice(0, Math.max(first, 0)).findLast(({ verdict }) => verdict !== UNDECIDED);
  return steady ? [steady.offered, points[first].offered] : null;
}

/** Draw measured points as two curves with a table of their numbers. */
function drawCurves(asked, { bound, points }) {
  const band = bandOf(points);
  const curves = [
    ["Accepted load (flits/node/cycle); dashed: all that is offered", "accepted load", "accepted", true],
    ["Mean latency (cycles), up to saturation", "latency", "latency", false],
  ].map(([words, name, key, ideal]) => `<section><h3>${words}</h3>${curve(points.map((point) => [point.offered, point[key]]), name, { ideal, bound, band })}</section>`);
  const rows = points.map(
    ({ offered, accepted, latency, verdict }) =>
      `<tr><td>${shown(offered)}</td><td>${shown(accepted)}</td><td>${latency == null ? verdict : shown(latency)}</td></tr>`,
  );
  const [begin, end] = windowOf(asked.traffic);
  const left = SHARES.length - points.length;
  const words = [
    band ? `Saturates between ${shown(band[0])} and ${shown(band[1])} flits per node and cycle.` : "",
    bound == null ? "" : `Links allow ${shown(bound)}.`,
    `Measured in cycles ${begin} to ${end}.`,
    left ? `${left} more loads end in a deadlock.` : "",
  ];
  find("measured").innerHTML =
    `<p></p>${curves.join("")}<div><details><summary>Numbers</summary><table><thead><tr><th scope="col">offered</th><th scope="col">accepted</th>` +
    `<th scope="col">latency</th></tr></thead><tbody>${rows.join("")}</tbody></table></details></div>`;
  find("measured").firstElementChild.textContent = `${title(asked).replace(/, [0-9.]+ flits per node and cycle/, "")}. ${words.filter(Boolean).join(" ")}`;
}

/** The text of a lesson, and its question with an answer that opens. */
function tell(lesson) {
  const part = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
  if (!lesson) return find("told").replaceChildren();
  const answer = document.createElement("details");
  answer.append(part("summary", lesson.question), part("p", lesson.answer));
  find("told").replaceChildren(part("p", lesson.text), answer);
}

/** Connect the form with the engine, and run what the link asks for. */
export async function live() {
  const engine = await load(await unpack(find("engine").textContent));
  const form = find("live");
  const chosen = find("lesson");
  chosen.append(...Object.entries(LESSONS).map(([name, { title: text }]) => new Option(text, name)), new Option("none: my experiment", ""));
  let before = [];
  let link = "";
  const trying = (work) => {
    find("problem").textContent = "";
    try {
      work();
    } catch (error) {
      find("problem").textContent = error.message;
    }
  };
  const parts = () => {
    const isLoad = form.elements.kind.value === "load";
    find("of-load").hidden = !isLoad;
    find("of-collective").hidden = isLoad;
    find("measure").hidden = !isLoad;
  };
  const keep = (state) => {
    link = writeLink(state);
    history.replaceState(null, "", link);
  };
  const show = (made) => {
    before = [made.at(-1)];
    start(made.map(({ run }) => run));
    find("same").replaceChildren(...made.map(({ run }) => Object.assign(document.createElement("code"), { textContent: run.command })));
  };
  const made = () => ({ fields: fieldsOf(form), run: runOf(engine, spec(form)) });
  const simulate = () => {
    const one = made();
    const same = before.length && String(before[0].run.fabric.sizes) === String(one.run.fabric.sizes);
    const both = find("keep").checked && same ? [before[0], one] : [one];
    chosen.value = "";
    tell(null);
    find("measured").replaceChildren();
    show(both);
    keep({ runs: both.map(({ fields }) => fields) });
  };
  const curves = () => {
    const asked = spec(form);
    const measured = measure(engine, asked);
    if (!measured.points.length) throw new Error("every load ends in a deadlock");
    drawCurves(asked, measured);
    keep({ lesson: chosen.value, runs: before.map(({ fields }) => fields), curves: true });
  };
  const begin = (asked) => {
    const lesson = LESSONS[asked.lesson] ?? null;
    if (asked.lesson && !lesson) throw new Error(`there is no lesson '${asked.lesson}'; there are ${Object.keys(LESSONS).join(", ")}`);
    const runs = (lesson?.runs ?? asked.runs).map((fields) => (fill(form, fields), made()));
    chosen.value = lesson ? asked.lesson : "";
    tell(lesson);
    find("measured").replaceChildren();
    parts();
    show(runs);
    keep({ lesson: asked.lesson, runs: runs.map(({ fields }) => fields) });
    if (asked.curves) curves();
    if (asked.play && !matchMedia("(prefers-reduced-motion: reduce)").matches) play(true);
  };
  const follow = () => {
    const asked = readLink(location.hash);
    const first = { ...asked, lesson: "slices" };
    find("problem").textContent = "";
    try {
      begin(asked.lesson || asked.runs.length ? asked : first);
    } catch (error) {
      begin(first);
      find("problem").textContent = error.message;
    }
  };
  form.addEventListener("submit", (event) => (event.preventDefault(), trying(simulate)));
  form.elements.kind.addEventListener("change", ({ target }) => {
    const [from, to] = target.value === "load" ? [PAPERS, MACHINE] : [MACHINE, PAPERS];
    const fields = Object.keys(to).map((name) => form.elements.namedItem(name));
    if (fields.every(({ name, value }) => value === from[name])) fields.forEach((field) => (field.value = to[field.name]));
    parts();
  });
  chosen.addEventListener("change", () => chosen.value && trying(() => begin({ lesson: chosen.value })));
  find("measure").addEventListener("click", () => form.reportValidity() && trying(curves));
  find("link").addEventListener("click", async () => {
    const address = `${location.href.split("#")[0]}${link}`;
    const done = await navigator.clipboard?.writeText(address).then(() => true, () => false);
    find("link").textContent = done ? "Copied" : "The link is in the address bar";
  });
  window.addEventListener("hashchange", () => location.hash !== link && follow());
  follow();
  globalThis.flitloom = { engine };
}
