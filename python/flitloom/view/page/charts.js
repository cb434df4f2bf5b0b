// Charts over time; all of them share the cursor, which is the cycle of the slider.

import { channels, sliceColour } from "./colours.js";
import { BLOCKED, IDLE, roundStep } from "./data.js";
import { prepare } from "./torus.js";

const LEFT = 46;
const BOTTOM = 18;

/** What two time charts share: the frame, the axis of cycles, the cursor. */
class TimeChart {
  constructor(canvas, run, cycles) {
    this.canvas = canvas;
    this.run = run;
    this.cycles = Math.max(1, cycles);
  }

  frame(label, colours) {
    const { context, width, height } = prepare(this.canvas);
    this.box = { left: LEFT, top: 4, width: width - LEFT - 6, height: height - BOTTOM - 6 };
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = colours.ink;
    context.textAlign = "center";
    const room = Math.max(2, Math.floor(this.box.width / 60));
    const step = roundStep(this.cycles / room);
    for (let cycle = 0; cycle <= this.cycles; cycle += step) {
      const x = this.x(cycle);
      if (x > width - 12) break;
      context.fillText(String(cycle), x, height - 5);
      context.fillRect(x, this.box.top + this.box.height, 1, 3);
    }
    context.save();
    context.translate(11, this.box.top + this.box.height / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(label, 0, 0);
    context.restore();
    context.strokeStyle = colours.faint;
    context.strokeRect(this.box.left, this.box.top, this.box.width, this.box.height);
    return context;
  }

  x(cycle) {
    return this.box.left + (cycle / this.cycles) * this.box.width;
  }

  cursor(context, colours, cycle) {
    const lines = [
      [cycle + 0.5, colours.ink, []],
      [this.run.bound, colours.bound, [4, 3]],
    ];
    for (const [at, colour, dash] of lines) {
      if (at == null || at > this.cycles) continue;
      context.strokeStyle = colour;
      context.lineWidth = 1.5;
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(this.x(at), this.box.top);
      context.lineTo(this.x(at), this.box.top + this.box.height);
      context.stroke();
    }
    context.setLineDash([]);
  }

  cycleAt(x) {
    const cycle = Math.floor(((x - this.box.left) / this.box.width) * this.cycles);
    return Math.min(Math.max(cycle, 0), this.cycles - 1);
  }
}

/** Every link a row, every cycle a column. */
export class LinkTimeChart extends TimeChart {
  /** The chart at one dot per cell, or per group of cells where there are very many. */
  image(colours) {
    const key = colours.idle + colours.blocked;
    if (this.painted === key) return this.picture;
    const { links } = this.run.fabric;
    const rows = Math.min(links, 2048);
    const columns = Math.min(this.run.cycles, 4096) || 1;
    const picture = new ImageData(columns, rows);
    const dots = new Uint32Array(picture.data.buffer);
    const pack = (colour) => {
      const [red, green, blue] = channels(colour);
      return (255 << 24) | (blue << 16) | (green << 8) | red;
    };
    const palette = new Uint32Array(256);
    for (let slice = 0; slice < 254; slice++) palette[1 + slice] = pack(sliceColour(slice));
    palette[IDLE] = pack(colours.idle);
    palette[BLOCKED] = pack(colours.blocked);
    const { cycles } = this.run;
    const cells = this.run.columns.link_time;
    const tall = links / rows;
    const wide = cycles / columns;
    const begins = Array.from({ length: columns + 1 }, (_, column) => Math.ceil(column * wide));
    dots.fill(palette[IDLE]);
    for (let row = 0; row < rows; row++) {
      const end = Math.ceil((row + 1) * tall);
      for (let link = Math.ceil(row * tall); link < end; link++) {
        for (let column = 0; column < columns; column++) {
          // Of a group of cells the first that is not idle stands for all.
          const dot = row * columns + column;
          const last = link * cycles + begins[column + 1];
          for (let place = link * cycles + begins[column]; place < last && dots[dot] === palette[IDLE]; place++) {
            if (cells[place] !== IDLE) dots[dot] = palette[cells[place]];
          }
        }
      }
    }
    this.picture = document.createElement("canvas");
    this.picture.width = columns;
    this.picture.height = rows;
    this.picture.getContext("2d").putImageData(picture, 0, 0);
    this.painted = key;
    return this.picture;
  }

  draw({ cycle, link, colours }) {
    const context = this.frame("link", colours);
    const { left, top, width, height } = this.box;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image(colours), left, top, (width * this.run.cycles) / this.cycles, height);
    this.cursor(context, colours, cycle);
    if (link != null) {
      context.strokeStyle = colours.ink;
      const y = top + ((link + 0.5) / this.run.fabric.links) * height;
      context.strokeRect(left, y - 2, width, 4);
    }
    context.fillStyle = colours.ink;
    context.textAlign = "right";
    context.fillText("0", left - 4, top + 10);
    context.fillText(String(this.run.fabric.links - 1), left - 4, top + height);
  }

  linkAt(y) {
    const row = Math.floor(((y - this.box.top) / this.box.height) * this.run.fabric.links);
    return Math.min(Math.max(row, 0), this.run.fabric.links - 1);
  }
}

/** The nodes of one ring or row against time: packets are bands that climb as they move. */
export class SpaceTimeChart extends TimeChart {
  draw({ cycle, link, packet, colours }) {
    const { fabric } = this.run;
    const direction = link % fabric.directions.length;
    const dimension = direction >> 1;
    const context = this.frame(`node along ${fabric.directions[direction][1]}`, colours);
    const { top, height } = this.box;
    const size = fabric.sizes[dimension];
    const y = (place) => top + height - (place / size) * height;
    const coordinates = fabric.coordinates((link - direction) / fabric.directions.length);
    const { packet: packets, head, duration, slice } = this.run.columns;
    context.save();
    context.beginPath();
    context.rect(this.box.left, top, this.box.width, height);
    context.clip();
    let chosen = null;
    for (let place = 0; place < size; place++) {
      coordinates[dimension] = place;
      const at = fabric.node(coordinates) * fabric.directions.length + direction;
      const from = direction & 1 ? place + 1 : place;
      const to = direction & 1 ? place : place + 1;
      for (let index = this.run.hopsByLink.begin[at]; index < this.run.hopsByLink.begin[at + 1]; index++) {
        const hop = this.run.hopsByLink.hops[index];
        const band = [
          [head[hop], y(from)],
          [head[hop] + duration[hop] + 1, y(from)],
          [head[hop] + duration[hop] + 2, y(to)],
          [head[hop] + 1, y(to)],
        ];
        context.fillStyle = sliceColour(slice[packets[hop]]);
        context.globalAlpha = packet == null || packets[hop] === packet ? 0.85 : 0.25;
        this.band(context, band);
        context.fill();
        if (packets[hop] === packet) chosen = [...(chosen ?? []), band];
      }
    }
    context.globalAlpha = 1;
    context.strokeStyle = colours.ink;
    context.lineWidth = 1.5;
    for (const band of chosen ?? []) {
      this.band(context, band);
      context.stroke();
    }
    context.restore();
    this.cursor(context, colours, cycle);
    context.fillStyle = colours.ink;
    context.textAlign = "right";
    context.fillText(String(size - 1), this.box.left - 4, top + 10);
    context.fillText("0", this.box.left - 4, top + height);
  }

  band(context, corners) {
    context.beginPath();
    corners.forEach(([at, y], index) => (index ? context.lineTo(this.x(at), y) : context.moveTo(this.x(at), y)));
    context.closePath();
  }
}

/** How many links have which load, as an SVG text. */
export function histogram(loads, most, colour) {
  const bins = Math.min(most + 1, 40);
  const wide = Math.ceil((most + 1) / bins);
  const counts = new Array(Math.ceil((most + 1) / wide)).fill(0);
  for (const load of loads) counts[Math.floor(load / wide)]++;
  const top = Math.max(...counts, 1);
  const [width, height] = [360, 120];
  const bar = width / counts.length;
  const bars = counts.map((count, index) => {
    const high = (count / top) * height;
    const name = wide === 1 ? `load ${index}` : `loads ${index * wide} to ${(index + 1) * wide - 1}`;
    return (
      `<rect x="${(40 + index * bar).toFixed(1)}" y="${(10 + height - high).toFixed(1)}" width="${(bar * 0.9).toFixed(1)}" ` +
      `height="${high.toFixed(1)}" fill="${colour((index * wide) / Math.max(most, 1))}"><title>${name}: ${count} links</title></rect>`
    );
  });
  return (
    `<svg viewBox="0 0 ${width + 50} ${height + 40}" role="img" aria-label="Histogram of link loads, 0 to ${most}">` +
    `${bars.join("")}<text x="36" y="18" text-anchor="end">${top}</text><text x="36" y="${height + 10}" text-anchor="end">0</text>` +
    `<text x="40" y="${height + 26}">0</text><text x="${width + 40}" y="${height + 26}" text-anchor="end">${most}</text>` +
    `<text x="${40 + width / 2}" y="${height + 36}" text-anchor="middle">load of a link</text></svg>`
  );
}
