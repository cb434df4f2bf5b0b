// The live page: the engine inside, compiled to WebAssembly.

import { curve, shown } from "./curves.js";
import { Run, unpack } from "./data.js";
import { start } from "./page.js";

const find = (id) => document.getElementById(id);

const congested = { sizes: "16x16", kind: "load", pattern: "bcmp", rate: 0.4, cycles: 800, flow_control: "cut-through", buffer: 16 };
/** What a reader may begin with: fields of the form that are not as usual, a line of them for every run shown. */
export const PRESETS = {
  "a shuffle in slices": [{}],
  "a hot spot": [{ sizes: "8x8", kind: "load", pattern: "hots", rate: 0.2, cycles: 600 }],
  "a deadlock": [{ sizes: "8", kind: "load", pattern: "rand", rate: 0.9, cycles: 1000, channels: 1 }],
  "a throttle, off and on": [congested, { ...congested, throttle: "pt" }],
};
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
  const more = [
    asked.routing === "do" ? "" : `, routing ${asked.routing}`,
    asked.throttle === "none" ? "" : `, throttle ${asked.throttle}`,
  ].join("");
  if (traffic.kind === "load") return `${asked.pattern} on ${shape}, ${traffic.rate} flits per node and cycle${more}`;
  const slices = traffic.slices > 1 ? ` in ${traffic.slices} slices` : "";
  return `${asked.pattern} on ${shape}, ${traffic.payload} payload flits${slices}${more}`;
}

/** The run that a spec asks for, with its latency and its accepted load before all other facts. */
function runOf(engine, asked) {
  const { head, buffer } = engine(asked);
  if (head.error) throw new Error(head.error);
  head.title = title(asked);
  const run = new Run(head, buffer);
  const { latency, accepted } = run.measured(0, run.cycles);
  run.facts = {
    latency: latency == null ? "-" : `${shown(latency)} cycles`,
    "accepted load": `${shown(accepted)} flits/node/cycle`,
    ...run.facts,
  };
  if (asked.pattern === "hots") {
    run.target = run.fabric.node(run.fabric.sizes.map((size) => Math.floor(size / 2)));
    run.facts.target = run.fabric.nodeName(run.target);
  }
  return run;
}

/** Latency and accepted load over the offered load, measured in the second half of the cycles that a spec asks for. */
export function measure(engine, asked) {
  const { rate, cycles } = asked.traffic;
  const most = Math.min(1, 2 * rate);
  const points = SHARES.map((share) => {
    const offered = Number((share * most).toPrecision(4));
    const { head, buffer } = engine({ ...asked, traffic: { ...asked.traffic, rate: offered } });
    if (head.error) throw new Error(head.error);
    const stuck = Boolean(head.deadlock);
    return { offered, stuck, ...new Run(head, buffer).measured(Math.floor(cycles / 2), cycles) };
  });
  return points.filter(({ stuck }) => !stuck);
}

/** Draw measured points as two curves with a table of their numbers. */
function drawCurves(asked, points) {
  const most = points.at(-1).offered;
  const curves = [
    ["Accepted load (flits/node/cycle); dashed: all that is offered", "accepted load", "accepted", most],
    ["Mean latency (cycles)", "latency", "latency", null],
  ].map(([words, name, key, ideal]) => `<section><h3>${words}</h3>${curve(points.map((point) => [point.offered, point[key]]), name, ideal)}</section>`);
  const rows = points.map(({ offered, accepted, latency }) => `<tr><td>${shown(offered)}</td><td>${shown(accepted)}</td><td>${shown(latency)}</td></tr>`);
  const half = Math.floor(asked.traffic.cycles / 2);
  const left = SHARES.length - points.length;
  const words = `Measured in cycles ${half} to ${asked.traffic.cycles}.${left ? ` At ${left} more loads it ends in a deadlock.` : ""}`;
  find("measured").innerHTML =
    `<p></p>${curves.join("")}<div><details><summary>Numbers</summary><table><thead><tr><th scope="col">offered</th><th scope="col">accepted</th>` +
    `<th scope="col">latency</th></tr></thead><tbody>${rows.join("")}</tbody></table></details></div>`;
  find("measured").firstElementChild.textContent = `${title(asked).replace(/, [0-9.]+ flits per node and cycle/, "")}. ${words}`;
}

/** Fields of the form as usual, but for some. */
function fill(form, fields) {
  form.reset();
  for (const [name, value] of Object.entries(fields)) form.elements[name].value = String(value);
}

/** Connect the form with the engine, and run it once. */
export async function live() {
  const engine = await load(await unpack(find("engine").textContent));
  const form = find("live");
  const chosen = find("preset");
  chosen.append(...Object.keys(PRESETS).map((name) => new Option(name)));
  const parts = () => {
    const load = form.elements.kind.value === "load";
    find("of-load").hidden = !load;
    find("of-collective").hidden = load;
    find("measure").hidden = !load;
  };
  const trying = (work) => {
    find("problem").textContent = "";
    try {
      work();
    } catch (error) {
      find("problem").textContent = error.message;
    }
  };
  let before = [];
  const simulate = () => {
    const made = runOf(engine, spec(form));
    const same = before.length && String(before[0].fabric.sizes) === String(made.fabric.sizes);
    const shown = find("keep").checked && same ? [before[0], made] : [made];
    before = [made];
    start(shown);
  };
  const begin = () => {
    const name = chosen.value;
    const made = PRESETS[name].map((fields) => {
      fill(form, fields);
      return runOf(engine, spec(form));
    });
    chosen.value = name;
    find("measured").replaceChildren();
    parts();
    before = [made.at(-1)];
    start(made);
  };
  const curves = () => {
    const asked = spec(form);
    const points = measure(engine, asked);
    if (!points.length) throw new Error("every load ends in a deadlock");
    drawCurves(asked, points);
  };
  form.addEventListener("submit", (event) => (event.preventDefault(), trying(simulate)));
  form.elements.kind.addEventListener("change", parts);
  chosen.addEventListener("change", () => trying(begin));
  find("measure").addEventListener("click", () => form.reportValidity() && trying(curves));
  trying(begin);
  globalThis.flitloom = { engine };
}
