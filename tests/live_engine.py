"""The engine of live pages, run by Node."""

#: Reads specs from standard input, as JSON, and prints what the engine says of each.
NODE = """
import { readFileSync } from "node:fs";
const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), {});
const { memory, reserve, run, output } = instance.exports;
for (const spec of JSON.parse(readFileSync(0, "utf-8"))) {
  const text = new TextEncoder().encode(JSON.stringify(spec));
  const place = reserve(text.length);
  new Uint8Array(memory.buffer, place, text.length).set(text);
  run();
  const size = new DataView(memory.buffer, output(), 4).getUint32(0, true);
  console.log(new TextDecoder().decode(new Uint8Array(memory.buffer, output() + 4, size)).trim());
}
"""
