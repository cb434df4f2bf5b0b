// The live page: the engine inside, compiled to WebAssembly.

import { Run, unpack } from "./data.js";
import { start } from "./page.js";
import { drawCurves, measure } from "./load.js";

const find = (id) => document.getElementById(id);

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

/** What the fields of an example are where it does not say. */
const USUAL = {
  shape: "torus", sizes: "16x16", channels: "", buffer: 4, latency: 1, flow_control: "wormhole", routing: "do",
  throttle: "none", seed: 1, packets: 1,
};
const LOADED = { ...USUAL, kind: "load", pattern: "bcmp", rate: 0.4, length: 8, cycles: 800 };
/** Examples by name: fields of the form, and what links show. */
export const EXAMPLES = {
  "shuffle in slices": { ...USUAL, kind: "collective", pattern: "shfl", payload: 28, slices: 4, interval: 60 },
  "the same as whole packets": { ...USUAL, kind: "collective", pattern: "shfl", payload: 28, slices: 1, interval: 0 },
  "hot spot": { ...LOADED, pattern: "hots", rate: 0.05, links: "buffers" },
  deadlock: { ...LOADED, sizes: "8", pattern: "rand", channels: 1, rate: 0.9, cycles: 300, links: "buffers" },
  "beyond saturation": { ...LOADED, links: "buffers" },
  "the same with a throttle": { ...LOADED, throttle: "pt", links: "buffers" },
};

function title(asked) {
  const shape = `${asked.sizes.join("x")} ${asked.wraps[0] ? "torus" : "mesh"}`;
  const { traffic } = asked;
  const held = asked.throttle === "none" ? "" : `, throttle ${asked.throttle}`;
  if (traffic.kind === "load") return `${asked.pattern} on ${shape}, ${traffic.rate} flits per node and cycle${held}`;
  const slices = traffic.slices > 1 ? ` in ${traffic.slices} slices` : "";
  return `${asked.pattern} on ${shape}, ${traffic.payload} payload flits${slices}`;
}

/** What is asked first, in a line. */
function answer(facts) {
  const first = ["outcome", "mean latency", "accepted load", "duration"].filter((name) => name in facts);
  return first.map((name) => `${name}: ${facts[name]}`).join("; ");
}

/** Connect the form with the engine, and run it once. */
export async function live() {
  const engine = await load(await unpack(find("engine").textContent));
  const form = find("live");
  const parts = () => {
    const load = form.elements.kind.value === "load";
    find("of-load").hidden = !load;
    find("of-collective").hidden = load;
  };
  let before = [];
  const simulate = () => {
    const asked = spec(form);
    const { head, buffer } = engine(asked);
    find("problem").textContent = head.error ?? "";
    find("answer").textContent = head.error ? "" : answer(head.facts);
    if (head.error) return;
    head.title = title(asked);
    const made = new Run(head, buffer);
    const same = before.length && String(before[0].fabric.sizes) === String(made.fabric.sizes);
    const shown = find("keep").checked && same ? [before[0], made] : [made];
    before = [made];
    start(shown, EXAMPLES[form.elements.example.value]?.links);
  };
  const choose = () => {
    const chosen = EXAMPLES[form.elements.example.value];
    if (!chosen) return;
    for (const [name, value] of Object.entries(chosen)) {
      // By name: the list of elements has a length of its own.
      const element = form.elements.namedItem(name);
      if (element) element.value = value;
    }
    parts();
    simulate();
  };
  form.elements.example.append(...Object.keys(EXAMPLES).map((name) => new Option(name)));
  form.elements.example.value = Object.keys(EXAMPLES)[0];
  form.elements.example.addEventListener("change", choose);
  form.addEventListener("input", (event) => {
    if (event.target.name && event.target.name !== "example") form.elements.example.value = "";
  });
  const curves = [];
  find("curve").addEventListener("click", async () => {
    const asked = spec(form);
    find("curve").disabled = true;
    try {
      const points = await measure(engine, asked, Number(new FormData(form).get("rate")));
      curves.push({ title: title(asked).replace(/, [0-9.e-]+ flits per node and cycle/, ""), points });
      find("problem").textContent = "";
      drawCurves(find("curves"), curves);
    } catch (problem) {
      find("problem").textContent = problem.message;
    }
    find("curve").disabled = false;
  });
  form.addEventListener("submit", (event) => (event.preventDefault(), simulate()));
  form.elements.kind.addEventListener("change", parts);
  parts();
  simulate();
  globalThis.flitloom = { engine };
}
