// Curves of a live page: accepted load and latency over the offered load.

import { Run } from "./data.js";
import { sliceColour } from "./colours.js";

/** Loads of a curve, relative to the one in the form. */
const PARTS = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2];
/** A network that accepts less than this part of what is offered is saturated. */
const FOLLOWS = 0.95;

/** What the second half of a run shows: accepted load, and the mean latency of the packets that arrive in it. */
export function point(run, rate, length, cycles) {
  const { start, arrival } = run.columns;
  const first = Math.floor(cycles / 2);
  let packets = 0;
  let ages = 0;
  for (let packet = 0; packet < arrival.length; packet++) {
    if (arrival[packet] < first || arrival[packet] >= cycles) continue;
    packets++;
    // Counted as durations are: one cycle into the network and one out of it included.
    ages += arrival[packet] - start[packet] + 2;
  }
  const accepted = (packets * length) / run.fabric.nodes / (cycles - first);
  const follows = accepted >= FOLLOWS * rate;
  return { rate, accepted, latency: follows && packets ? ages / packets : null };
}

/** Points of a curve up to twice a load, one at a time so that the page stays alive. */
export async function measure(engine, asked, rate) {
  const length = asked.traffic.length ?? asked.traffic.payload + 1;
  const cycles = Math.max(2 * (asked.traffic.cycles ?? 0), 1200);
  const points = [];
  for (const offered of PARTS.map((part) => part * rate).filter((load) => load <= 1)) {
    const traffic = { kind: "load", rate: offered, length, cycles };
    const { head, buffer } = engine({ ...asked, traffic, stop_at: cycles });
    if (head.error) throw new Error(head.error);
    if (head.deadlock) break;
    points.push(point(new Run(head, buffer), offered, length, cycles));
    await new Promise((resume) => setTimeout(resume));
  }
  if (!points.length) throw new Error("deadlocked at every load of the curve");
  return points;
}

const WIDTH = 420;
const HEIGHT = 240;
const EDGE = { left: 52, right: 10, top: 26, bottom: 38 };

function ticks(most) {
  const raw = most / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= raw);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, index) => index * step);
}

function chart(curves, name, words) {
  const across = 1.05 * Math.max(...curves.flatMap(({ points }) => points.map(({ rate }) => rate)));
  const up = 1.05 * Math.max(...curves.flatMap(({ points }) => points.map((each) => each[name] ?? 0)), 1e-9);
  const x = (value) => EDGE.left + (value / across) * (WIDTH - EDGE.left - EDGE.right);
  const y = (value) => HEIGHT - EDGE.bottom - (value / up) * (HEIGHT - EDGE.top - EDGE.bottom);
  const short = (value) => String(Number(value.toPrecision(3)));
  const parts = [`<text x="${EDGE.left}" y="15" font-weight="600">${words}</text>`];
  for (const value of ticks(across)) {
    parts.push(`<text x="${x(value)}" y="${HEIGHT - EDGE.bottom + 14}" text-anchor="middle">${short(value)}</text>`);
  }
  for (const value of ticks(up)) {
    parts.push(`<text x="${EDGE.left - 5}" y="${y(value) + 4}" text-anchor="end">${short(value)}</text>`);
    parts.push(`<path d="M${EDGE.left} ${y(value)}H${WIDTH - EDGE.right}" stroke="var(--idle)"/>`);
  }
  parts.push(`<text x="${(EDGE.left + WIDTH) / 2}" y="${HEIGHT - 6}" text-anchor="middle">offered load (flits/node/cycle)</text>`);
  curves.forEach(({ points }, number) => {
    const known = points.filter((each) => each[name] != null);
    const path = known.map((each, index) => `${index ? "L" : "M"}${x(each.rate)} ${y(each[name])}`).join("");
    const colour = sliceColour(number);
    parts.push(`<path d="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`);
    for (const each of known) parts.push(`<circle cx="${x(each.rate)}" cy="${y(each[name])}" r="3" fill="${colour}"/>`);
  });
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${words} over the offered load">${parts.join("")}</svg>`;
}

/** Draw all curves that were asked for; the numbers stand below them. */
export function drawCurves(place, curves) {
  place.hidden = false;
  place.innerHTML =
    chart(curves, "latency", "mean latency (cycles), none where saturated") +
    chart(curves, "accepted", "accepted load (flits/node/cycle)");
  const table = document.createElement("table");
  table.createTHead().innerHTML =
    "<tr><th>curve</th><th>offered</th><th>accepted</th><th>mean latency</th></tr>";
  const body = table.createTBody();
  curves.forEach(({ title, points }, number) => {
    for (const { rate, accepted, latency } of points) {
      const row = body.insertRow();
      row.style.color = sliceColour(number);
      const cells = [title, rate.toPrecision(3), accepted.toFixed(4), latency == null ? "saturated" : latency.toFixed(2)];
      for (const text of cells) row.insertCell().textContent = text;
    }
  });
  const words = document.createElement("p");
  words.textContent = "Measured over the second half of each run, over the packets that arrive in it.";
  const numbers = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = "Numbers";
  numbers.append(summary, words, table);
  const legend = document.createElement("p");
  curves.forEach(({ title }, number) => {
    const entry = document.createElement("span");
    entry.style.color = sliceColour(number);
    entry.textContent = `\u25cf ${title} `;
    legend.append(entry);
  });
  place.append(legend, numbers);
}
