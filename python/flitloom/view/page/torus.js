// The network as a drawing: every link a line, the two directions of a cable side by side.

import { scaleColour, siteColour, sliceColour } from "./colours.js";
import { BLOCKED, IDLE, roundStep } from "./data.js";

// Where the links of dimensions beyond the second point to.
const SLANTS = [
  [0.3, 0.3],
  [-0.3, 0.3],
  [0.16, 0.38],
  [-0.16, 0.38],
];

/** Places of nodes and ends of links, in units of the distance between neighbours. */
export function layout(fabric) {
  if (fabric.places) return placed(fabric);
  return isRing(fabric) ? ring(fabric) : grid(fabric);
}

/** Largest ring that is drawn as one; longer ones are lines whose ends meet. */
const LONGEST_RING = 64;

function isRing({ sizes, wraps }) {
  return sizes.length === 1 && Boolean(wraps?.[0]) && sizes[0] > 2 && sizes[0] <= LONGEST_RING;
}

/** A ring as a circle: plus leads clockwise, outside of minus. */
function ring(fabric) {
  const count = fabric.nodes;
  const radius = Math.max(1.2, count / 6);
  const at = (place, reach) => {
    const angle = Math.PI / 2 - (2 * Math.PI * place) / count;
    return [reach * Math.cos(angle), reach * Math.sin(angle)];
  };
  const nodes = Array.from({ length: count }, (_, node) => at(node, radius));
  const lines = new Float32Array(fabric.links * 4);
  const exists = new Uint8Array(fabric.links);
  for (let link = 0; link < fabric.links; link++) {
    if (fabric.target(link) < 0 || fabric.failed.has(link)) continue;
    exists[link] = 1;
    const ports = fabric.directions.length;
    const [node, minus] = [Math.floor(link / ports), link % ports];
    const reach = radius + (minus ? -0.07 : 0.07);
    lines.set([...at(node, reach), ...at(node + (minus ? -1 : 1), reach)], 4 * link);
  }
  const labels = nodes.map((_, node) => {
    const [x, y] = at(node, radius + 0.4);
    return { text: String(node), x, y: y - 0.1, centre: true };
  });
  const rim = radius + 0.8;
  return { nodes, lines, exists, bends: new Map(), labels, low: [-rim, -rim], high: [rim, rim], round: true };
}

/** Points inside a curved line. */
const CURVE = [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875];
/** Columns of places are in hundredths. */
const PLACE = 100;

/** Wires at the places that came along: a link is a line, or bent towards a third point. */
function placed(fabric) {
  const { x, y, x0, y0, x1, y1, bendX, bendY } = fabric.places;
  const nodes = Array.from({ length: fabric.nodes }, (_, node) => [x[node] / PLACE, y[node] / PLACE]);
  const lines = new Float32Array(fabric.links * 4);
  const exists = new Uint8Array(fabric.links);
  const bends = new Map();
  const all = [...nodes];
  for (let link = 0; link < fabric.links; link++) {
    if (fabric.failed.has(link)) continue;
    exists[link] = 1;
    const [start, bend, end] = [[x0, y0], [bendX, bendY], [x1, y1]].map(([across, up]) => [across[link] / PLACE, up[link] / PLACE]);
    lines.set([...start, ...end], 4 * link);
    const middle = [(start[0] + end[0]) / 2, (start[1] + end[1]) / 2];
    if (Math.abs(bend[0] - middle[0]) + Math.abs(bend[1] - middle[1]) > 0.05) {
      const inner = CURVE.map((part) =>
        [0, 1].map((axis) => (1 - part) ** 2 * start[axis] + 2 * part * (1 - part) * bend[axis] + part ** 2 * end[axis]),
      );
      bends.set(link, inner);
      all.push(...inner);
    } else all.push(end);
  }
  const labels = fabric.labels.map(([text, across, up]) => ({ text, x: across, y: up }));
  const low = [0, 1].map((axis) => all.reduce((least, point) => Math.min(least, point[axis]), Infinity) - 0.6);
  const high = [0, 1].map((axis) => all.reduce((most, point) => Math.max(most, point[axis]), -Infinity) + 0.6);
  if (labels.length) high[1] += 0.5;
  return { nodes, lines, exists, bends, labels, low, high };
}

function grid(fabric) {
  const sizes = fabric.sizes.length === 1 ? [fabric.sizes[0], 1] : fabric.sizes;
  const strides = [
    [1, 0],
    [0, 1],
  ];
  const extent = [sizes[0] + 0.6, sizes[1] + 0.6];
  for (let dimension = 2; dimension < sizes.length; dimension++) {
    const axis = dimension % 2;
    strides.push(axis === 0 ? [extent[0], 0] : [0, extent[1]]);
    extent[axis] *= sizes[dimension];
  }
  // The planes of a third dimension fill a square of their own, row by row from the top.
  const across = sizes.length === 3 ? Math.ceil(Math.sqrt(sizes[2])) : 0;
  const nodes = [];
  const labels = [];
  for (let node = 0; node < fabric.nodes; node++) {
    const place = [0, 0];
    const coordinates = fabric.coordinates(node);
    coordinates.forEach((coordinate, dimension) => {
      if (dimension === 2 && across) {
        place[0] += (coordinate % across) * strides[2][0];
        place[1] -= Math.floor(coordinate / across) * (sizes[1] + 1.2);
        return;
      }
      place[0] += coordinate * strides[dimension][0];
      place[1] += coordinate * strides[dimension][1];
    });
    nodes.push(place);
    if (sizes.length > 2 && coordinates[0] === 0 && coordinates[1] === sizes[1] - 1) {
      const text = coordinates.slice(2).map((coordinate, index) => `${"zuvw"[index]}=${coordinate}`).join(" ");
      labels.push({ text, x: place[0], y: place[1] + 0.5 });
    }
  }
  const ports = fabric.directions.length;
  const lines = new Float32Array(fabric.links * 4);
  const exists = new Uint8Array(fabric.links);
  for (let link = 0; link < fabric.links; link++) {
    const target = fabric.target(link);
    if (target < 0 || fabric.failed.has(link)) continue;
    exists[link] = 1;
    const direction = link % ports;
    const dimension = direction >> 1;
    const sign = direction & 1 ? -1 : 1;
    const start = nodes[(link - direction) / ports];
    let end = nodes[target];
    const step = (dimension < 2 ? strides[dimension] : SLANTS[dimension - 2]).map((value) => value * sign);
    if (dimension >= 2) end = [start[0] + step[0], start[1] + step[1]];
    else if (Math.abs(end[0] - start[0] - step[0]) + Math.abs(end[1] - start[1] - step[1]) > 1e-6) {
      // A link around the rim is drawn half at each side.
      end = [start[0] + 0.45 * step[0], start[1] + 0.45 * step[1]];
    }
    const aside = dimension < 2 ? [-0.07 * step[1], 0.07 * step[0]] : [0, 0];
    lines.set([start[0] + aside[0], start[1] + aside[1], end[0] + aside[0], end[1] + aside[1]], 4 * link);
  }
  const low = [Math.min(...nodes.map((p) => p[0])) - 0.6, Math.min(...nodes.map((p) => p[1])) - 0.6];
  const high = [Math.max(...nodes.map((p) => p[0])) + 0.6, Math.max(...nodes.map((p) => p[1])) + 0.6];
  if (labels.length) high[1] += 0.5;
  return { nodes, lines, exists, bends: new Map(), labels, low, high };
}

const boxes = new WeakMap();

/** Ask for the boxes of all canvases before any is drawn, so that the page is laid out once and not once for each. */
export function measure(canvases) {
  for (const canvas of canvases) boxes.set(canvas, canvas.getBoundingClientRect());
}

/** A measured canvas that fills its box at the screen's resolution; returns its context, width and height in CSS pixels. */
export function prepare(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const box = boxes.get(canvas);
  const [width, height] = [Math.max(1, Math.round(box.width)), Math.max(1, Math.round(box.height))];
  if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
    canvas.width = width * ratio;
    canvas.height = height * ratio;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

export class TorusView {
  constructor(canvas, run) {
    this.canvas = canvas;
    this.run = run;
    this.plan = layout(run.fabric);
    const { low, high } = this.plan;
    canvas.style.aspectRatio = `${high[0] - low[0]} / ${high[1] - low[1]}`;
    /** So much wider than high that nothing fits beside it. */
    this.flat = high[0] - low[0] > 2.5 * (high[1] - low[1]);
    // Coordinates stand below and to the left, in pixels; planes have names instead.
    const dimensions = this.plan.round ? 3 : (run.fabric.sizes?.length ?? 3);
    this.room = dimensions > 2 ? [0, 0] : [dimensions > 1 ? 20 : 0, 14];
  }

  /** Draw a cycle; `mode` is now (what links do) or load (flits in total), `most` the top of the scale. */
  draw({ cycle, mode, most, link, path, node, target, colours }) {
    const { context, width, height } = prepare(this.canvas);
    const { low, high, lines, exists } = this.plan;
    const [aside, under] = this.room;
    const unit = Math.min((width - aside) / (high[0] - low[0]), (height - under) / (high[1] - low[1]));
    const left = aside + (width - aside - unit * (high[0] - low[0])) / 2;
    const below = under + (height - under - unit * (high[1] - low[1])) / 2;
    this.place = (x, y) => [left + (x - low[0]) * unit, height - below - (y - low[1]) * unit];
    this.unit = unit;
    const groups = new Map();
    for (let index = 0; index < exists.length; index++) {
      if (!exists[index]) continue;
      const colour = this.colour(index, cycle, mode, most, colours);
      if (!groups.has(colour)) groups.set(colour, []);
      groups.get(colour).push(index);
    }
    // Busy links lie above idle ones.
    const order = [...groups].sort(([one], [other]) => (other === colours.idle) - (one === colours.idle));
    // Wires that cross each other everywhere are thin.
    const dense = this.run.fabric.places ? Math.max(0.25, Math.min(1, Math.sqrt(300 / exists.length))) : 1;
    const thick = Math.max(dense < 1 ? 0.5 : 1, Math.min(4, unit * 0.11) * dense);
    // In a plan the idle links are what could still be used.
    const isPlan = this.run.time === "step";
    for (const [colour, members] of order) {
      const idle = colour === colours.idle;
      context.strokeStyle = idle && isPlan ? colours.faint : colour;
      context.lineWidth = idle ? Math.max(0.6, thick * 0.5) : thick;
      context.setLineDash(idle && isPlan ? [3, 2] : []);
      this.lines(context, members, lines);
    }
    context.setLineDash([]);
    if (this.run.groups || this.run.texts) this.sites(context, colours);
    else if (unit > 6) this.routers(context, mode === "now" ? this.run.buffersInUse?.(cycle) : null, colours);
    context.strokeStyle = colours.ink;
    context.lineWidth = 1.5;
    for (const failed of this.run.fabric.failedNodes) this.cross(context, failed);
    context.font = `${Math.min(12, Math.max(8, unit * 0.5))}px system-ui, sans-serif`;
    context.fillStyle = colours.ink;
    for (const { text, x, y, centre } of this.plan.labels) {
      context.textAlign = centre ? "center" : "left";
      context.fillText(text, ...this.place(x, y));
    }
    if (under) this.coordinates(context);
    this.mark(context, this.run.deadlock?.links ?? [], colours.mark, thick + 2.5, lines);
    this.mark(context, path ?? [], colours.ink, thick + 0.5, lines, true);
    if (this.run.bottleneck_link != null) this.ring(context, this.run.bottleneck_link, colours.bound, lines);
    for (const end of this.run.bottleneck_nodes ?? []) this.circle(context, end, colours.bound);
    if (link != null) {
      this.mark(context, [link], colours.ink, thick + 5, lines);
      this.mark(context, [link], this.colour(link, cycle, mode, most, colours), thick, lines);
      // In large networks that alone is not seen.
      if (unit < 16) this.ring(context, link, colours.ink, lines);
    }
    if (node != null) this.circle(context, node, colours.ink);
    // Where packets of a hot spot go, or the chosen one.
    for (const goal of [this.run.target, target]) if (goal != null && goal >= 0) this.aim(context, goal, colours.ink);
  }

  /** Nodes as squares, larger where more of their buffers hold flits. */
  routers(context, used, colours) {
    const least = Math.min(3, this.unit * 0.07);
    this.plan.nodes.forEach(([x, y], node) => {
      const [left, top] = this.place(x, y);
      const half = Math.min(least * Math.sqrt(1 + 2 * (used?.[node] ?? 0)), this.unit * 0.3);
      context.fillStyle = used?.[node] ? colours.cable : colours.faint;
      context.fillRect(left - half, top - half, 2 * half, 2 * half);
    });
  }

  /** Nodes in the colours of their groups, with what sits there where there is room. */
  sites(context, colours) {
    const { groups, texts, fabric } = this.run;
    // Stubs of a third dimension begin below.
    const share = (fabric.sizes?.length ?? 3) > 2 ? 0.2 : 0.3;
    const half = Math.min(16, Math.max(1.5, this.unit * share));
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let node = 0; node < fabric.nodes; node++) {
      const [x, y] = this.place(...this.plan.nodes[node]);
      const group = groups?.[node] ?? 0;
      context.fillStyle = group ? siteColour(group - 1) : colours.paper;
      context.strokeStyle = colours.faint;
      context.lineWidth = 1;
      context.fillRect(x - half, y - half, 2 * half, 2 * half);
      context.strokeRect(x - half, y - half, 2 * half, 2 * half);
      const text = String(texts?.[node] ?? "");
      const size = Math.min(12, (3 * half) / Math.max(text.length, 2));
      if (size < 6) continue;
      context.font = `${size}px system-ui, sans-serif`;
      context.fillStyle = group ? "#1b1f24" : colours.ink;
      context.fillText(text, x, y);
    }
    context.textBaseline = "alphabetic";
  }

  /** Numbers of columns and rows, as many as there is room for. */
  coordinates(context) {
    const [columns, rows = 1] = this.run.fabric.sizes;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    for (let x = 0; x < columns; x += roundStep(24 / this.unit)) {
      const [across, down] = this.place(x, this.plan.low[1]);
      context.fillText(String(x), across, down + 10);
    }
    if (rows < 2) return;
    context.textAlign = "right";
    for (let y = 0; y < rows; y += roundStep(14 / this.unit)) {
      const [across, down] = this.place(this.plan.low[0], y);
      context.fillText(String(y), across - 3, down + 4);
    }
  }

  /** A node that failed. */
  cross(context, node) {
    const [x, y] = this.place(...this.plan.nodes[node]);
    const reach = Math.min(6, Math.max(2, this.unit * 0.2));
    context.beginPath();
    context.moveTo(x - reach, y - reach);
    context.lineTo(x + reach, y + reach);
    context.moveTo(x - reach, y + reach);
    context.lineTo(x + reach, y - reach);
    context.stroke();
  }

  colour(link, cycle, mode, most, colours) {
    if (mode === "load") {
      const value = this.run.flits[link];
      return value ? scaleColour(Math.round((32 * value) / most) / 32) : colours.idle;
    }
    if (mode === "cables") return colours.cable;
    const cell = this.run.state(link, cycle);
    if (cell === IDLE) return colours.idle;
    return cell === BLOCKED ? colours.blocked : sliceColour(cell - 1);
  }

  lines(context, members, lines) {
    context.beginPath();
    for (const index of members) {
      context.moveTo(...this.place(lines[4 * index], lines[4 * index + 1]));
      for (const point of this.plan.bends.get(index) ?? []) context.lineTo(...this.place(...point));
      context.lineTo(...this.place(lines[4 * index + 2], lines[4 * index + 3]));
    }
    context.stroke();
  }

  mark(context, members, colour, thick, lines, arrow = false) {
    if (!members.length) return;
    context.strokeStyle = colour;
    context.lineWidth = thick;
    this.lines(context, members, lines);
    if (!arrow) return;
    const last = members.at(-1);
    context.fillStyle = colour;
    context.beginPath();
    context.arc(...this.place(lines[4 * last + 2], lines[4 * last + 3]), thick + 1.5, 0, 2 * Math.PI);
    context.fill();
  }

  ring(context, link, colour, lines) {
    const middle = [(lines[4 * link] + lines[4 * link + 2]) / 2, (lines[4 * link + 1] + lines[4 * link + 3]) / 2];
    const [x, y] = this.place(...(this.plan.bends.get(link)?.[3] ?? middle));
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, Math.min(14, Math.max(5, this.unit * 0.3)), 0, 2 * Math.PI);
    context.stroke();
  }

  /** Two rings around the target of packets. */
  aim(context, node, colour) {
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    const [x, y] = this.place(...this.plan.nodes[node]);
    const outer = Math.min(14, Math.max(6, this.unit * 0.36));
    for (const radius of [outer, outer - 3]) {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  circle(context, node, colour) {
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(...this.place(...this.plan.nodes[node]), Math.min(14, Math.max(5, this.unit * 0.25)), 0, 2 * Math.PI);
    context.stroke();
  }

  /** The link nearest to a point of the canvas, within reach. */
  hit(x, y) {
    if (!this.place) return null;
    const { lines, exists } = this.plan;
    let best = null;
    let nearest = Math.max(6, this.unit * 0.25) ** 2;
    for (let link = 0; link < exists.length; link++) {
      if (!exists[link]) continue;
      const points = [
        [lines[4 * link], lines[4 * link + 1]],
        ...(this.plan.bends.get(link) ?? []),
        [lines[4 * link + 2], lines[4 * link + 3]],
      ].map((point) => this.place(...point));
      for (let leg = 1; leg < points.length; leg++) {
        const distance = between(x, y, points[leg - 1], points[leg]);
        if (distance < nearest) [best, nearest] = [link, distance];
      }
    }
    return best;
  }
}

/** The square of the distance of a point from a line between two others. */
function between(x, y, [ax, ay], [bx, by]) {
  const length = (bx - ax) ** 2 + (by - ay) ** 2;
  const part = length ? Math.min(1, Math.max(0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length)) : 0;
  return (x - ax - part * (bx - ax)) ** 2 + (y - ay - part * (by - ay)) ** 2;
}
