// What links allow: the load at which the busiest link is always busy, in dimension order.

import { Run } from "./data.js";

/** Patterns whose destinations are drawn; of these only `rand` is counted, all others send to one node each. */
const DRAWN = new Set(["hots", "rpar"]);

/** The load in flits per node and cycle that no router exceeds in dimension order, or null where it is not known. */
export function channelBound(engine, asked) {
  if (asked.routing !== "do" || DRAWN.has(asked.pattern)) return null;
  const most = asked.pattern === "rand" ? busiestOfAll(asked) : busiestOfOne(engine, asked);
  return most ? Math.min(1, 1 / most) : 1;
}

/** Packets over the busiest link where every node sends one: they are sent, alone, and counted. */
function busiestOfOne(engine, asked) {
  const traffic = { kind: "collective", payload: 1, slices: 1, interval: 0, packets: 1 };
  const { head, buffer } = engine({ ...asked, traffic, throttle: "none" });
  if (head.error || head.deadlock) return null;
  const run = new Run(head, buffer);
  return run.mostFlits / run.columns.flits[0];
}

/** The same where every node sends to all others alike: dimension by dimension, on the rings or lines of each. */
function busiestOfAll({ sizes, wraps, ties }) {
  const nodes = sizes.reduce((product, size) => product * size, 1);
  return Math.max(...sizes.map((size, dimension) => (busiestOfLine(size, wraps[dimension], ties) * nodes) / size / (nodes - 1)));
}

/** Pairs over the busiest link of a ring or a line. At half a ring they wrap around, or go plus from even places. */
function busiestOfLine(size, wraps, ties) {
  const loads = new Map();
  const tiesGoPlus = (from) => (ties === "balanced" ? from % 2 === 0 : 2 * from >= size);
  for (let from = 0; from < size; from++) {
    for (let to = 0; to < size; to++) {
      const ahead = wraps ? (to - from + size) % size : to - from;
      const plus = !wraps ? ahead > 0 : 2 * ahead === size ? tiesGoPlus(from) : 2 * ahead < size;
      const hops = !wraps ? Math.abs(ahead) : plus ? ahead : size - ahead;
      for (let hop = 0; to !== from && hop < hops; hop++) {
        const link = `${plus}${(from + (plus ? hop : -hop) + size) % size}`;
        loads.set(link, (loads.get(link) ?? 0) + 1);
      }
    }
  }
  return Math.max(0, ...loads.values());
}
