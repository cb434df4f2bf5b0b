// Curves that a live page measures.

import { sliceColour } from "./colours.js";

/** Points joined by a line over the offered load, as an SVG text; a dashed line has `ideal` at the largest load. */
export function curve(points, name, ideal = null) {
  const [width, height, left, top] = [360, 170, 52, 12];
  const most = Math.max(...points.map(([rate]) => rate));
  const high = Math.max(...points.map(([, value]) => value ?? 0), ideal ?? 0) || 1;
  const place = ([rate, value]) => `${(left + (rate / most) * width).toFixed(1)},${(top + height - (value / high) * height).toFixed(1)}`;
  const drawn = points.filter(([, value]) => value != null);
  const dots = drawn.map((point) => {
    const [x, y] = place(point).split(",");
    return `<circle cx="${x}" cy="${y}" r="3.5" fill="${sliceColour(0)}"><title>${name} ${shown(point[1])} at ${shown(point[0])}</title></circle>`;
  });
  const dashed = ideal == null ? "" : `<path d="M${place([0, 0])} ${place([most, ideal])}" stroke="currentColor" stroke-dasharray="4 3" opacity="0.6"/>`;
  return (
    `<svg viewBox="0 0 ${width + left + 14} ${height + top + 36}" role="img" aria-label="${name} over the offered load" fill="none">` +
    `<path d="M${left},${top}V${top + height}H${left + width}" stroke="currentColor"/>${dashed}` +
    `<polyline points="${drawn.map(place).join(" ")}" stroke="${sliceColour(0)}" stroke-width="2"/>${dots.join("")}` +
    `<text x="${left - 5}" y="${top + 8}" text-anchor="end">${shown(high)}</text><text x="${left - 5}" y="${top + height}" text-anchor="end">0</text>` +
    `<text x="${left}" y="${top + height + 15}">0</text><text x="${left + width}" y="${top + height + 15}" text-anchor="end">${shown(most)}</text>` +
    `<text x="${left + width / 2}" y="${top + height + 30}" text-anchor="middle">offered load (flits/node/cycle)</text></svg>`
  );
}

/** A number in four digits. */
export function shown(value) {
  return value == null ? "-" : String(Number(value.toPrecision(4)));
}
