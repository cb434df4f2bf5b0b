// The live page: the engine inside, compiled to WebAssembly.

import { Run, unpack } from "./data.js";
import { start } from "./page.js";

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

function title(asked) {
  const shape = `${asked.sizes.join("x")} ${asked.wraps[0] ? "torus" : "mesh"}`;
  const { traffic } = asked;
  if (traffic.kind === "load") return `${asked.pattern} on ${shape}, ${traffic.rate} flits per node and cycle`;
  const slices = traffic.slices > 1 ? ` in ${traffic.slices} slices` : "";
  return `${asked.pattern} on ${shape}, ${traffic.payload} payload flits${slices}`;
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
    if (head.error) return;
    head.title = title(asked);
    const made = new Run(head, buffer);
    const same = before.length && String(before[0].fabric.sizes) === String(made.fabric.sizes);
    const shown = find("keep").checked && same ? [before[0], made] : [made];
    before = [made];
    start(shown);
  };
  form.addEventListener("submit", (event) => (event.preventDefault(), simulate()));
  form.elements.kind.addEventListener("change", parts);
  parts();
  simulate();
  globalThis.flitloom = { engine };
}
