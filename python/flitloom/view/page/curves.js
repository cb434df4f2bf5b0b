// Curves that a live page measures.

import { sliceColour } from "./colours.js";

/** Steps between ticks: 1, 2 or 5 times a power of ten, so that there are about `count` up to `most`. */
export function ticks(most, count = 5) {
  const power = 10 ** Math.floor(Math.log10(most / count));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power * count >= most);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, number) => Number((number * step).toPrecision(12)));
}

/** Points joined by a line over the offered load, as an SVG text.
 *
 * A dashed line has what is offered where `ideal` is true. `bound` is a line upright at the load that links allow, with
 * its name. `band` are the loads between which the network saturates.
 */
export function curve(points, name, { ideal = false, bound = null, band = null } = {}) {
  const [width, height, left, top] = [360, 170, 52, 22];
  const most = Math.max(...points.map(([rate]) => rate), bound != null && bound < 1.25 * points.at(-1)[0] ? bound : 0);
  const high = Math.max(...points.map(([, value]) => value ?? 0), ideal ? most : 0) || 1;
  const across = (rate) => (left + (rate / most) * width).toFixed(1);
  const up = (value) => (top + height - (value / high) * height).toFixed(1);
  const place = ([rate, value]) => `${across(rate)},${up(value)}`;
  const drawn = points.filter(([, value]) => value != null);
  const dots = drawn.map(
    ([rate, value]) =>
      `<circle cx="${across(rate)}" cy="${up(value)}" r="3.5" fill="${sliceColour(0)}"><title>${name} ${shown(value)} at ${shown(rate)}</title></circle>`,
  );
  const grid = [
    ...ticks(most).map((rate) => `<path d="M${across(rate)},${top}V${top + height}" class="grid"/><text x="${across(rate)}" y="${top + height + 15}" text-anchor="middle">${shown(rate)}</text>`),
    ...ticks(high).map((value) => `<path d="M${left},${up(value)}H${left + width}" class="grid"/><text x="${left - 5}" y="${Number(up(value)) + 4}" text-anchor="end">${shown(value)}</text>`),
  ];
  const marks = [];
  if (band) {
    const [low, above] = band;
    marks.push(`<rect class="band" x="${across(low)}" y="${top}" width="${(across(above) - across(low)).toFixed(1)}" height="${height}"><title>saturates between ${shown(low)} and ${shown(above)}</title></rect>`);
  }
  if (bound != null && bound <= most) {
    const end = bound > 0.6 * most ? "end" : "start";
    marks.push(`<path class="bound" d="M${across(bound)},${top}V${top + height}"/><text class="bound" x="${across(bound)}" y="${top - 6}" text-anchor="${end}">bound ${shown(bound)}</text>`);
  }
  if (ideal) marks.push(`<path d="M${place([0, 0])} ${place([points.at(-1)[0], points.at(-1)[0]])}" stroke="currentColor" stroke-dasharray="4 3" opacity="0.6"/>`);
  return (
    `<svg viewBox="0 0 ${width + left + 18} ${height + top + 36}" role="img" aria-label="${name} over the offered load" fill="none">` +
    `${grid.join("")}<path d="M${left},${top}V${top + height}H${left + width}" stroke="currentColor"/>${marks.join("")}` +
    `<polyline points="${drawn.map(place).join(" ")}" stroke="${sliceColour(0)}" stroke-width="2"/>${dots.join("")}` +
    `<text x="${left + width / 2}" y="${top + height + 31}" text-anchor="middle">offered load (flits/node/cycle)</text></svg>`
  );
}

/** A number in four digits. */
export function shown(value) {
  return value == null ? "-" : String(Number(value.toPrecision(4)));
}
