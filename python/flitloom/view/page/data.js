// The data of a page: packed columns, and what can be asked of them.

/** Bytes of a base64 text that was compressed with gzip. */
export async function unpack(text) {
  const letters = atob(text.trim());
  const bytes = new Uint8Array(letters.length);
  for (let index = 0; index < letters.length; index++) bytes[index] = letters.charCodeAt(index);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array };

/** A column as a typed array over the page's bytes. */
export function column(place, buffer) {
  return new TYPES[place.type](buffer, place.offset, place.length);
}

export const IDLE = 0;
export const BLOCKED = 255;

/** A grid: node = x + y * sizes[0] + ..., link = node * directions + direction. */
export class Fabric {
  constructor(head) {
    this.sizes = head.sizes;
    this.wraps = head.wraps;
    this.directions = head.directions;
    /** The size of the dimensions whose edges move half of the longer ones, in a twisted torus. */
    this.short = head.twist ? Math.min(...head.sizes) : 0;
    this.nodes = this.sizes.reduce((product, size) => product * size, 1);
    this.links = this.nodes * this.directions.length;
    this.failed = new Set(head.failed_links);
    this.failedNodes = new Set(head.failed_nodes);
  }

  coordinates(node) {
    return this.sizes.map((size) => {
      const coordinate = node % size;
      node = (node - coordinate) / size;
      return coordinate;
    });
  }

  node(coordinates) {
    return coordinates.reduceRight((node, coordinate, dimension) => node * this.sizes[dimension] + coordinate, 0);
  }

  /** The node behind a link, or -1 where there is none. */
  target(link) {
    const direction = link % this.directions.length;
    const coordinates = this.coordinates((link - direction) / this.directions.length);
    const dimension = direction >> 1;
    const size = this.sizes[dimension];
    const next = coordinates[dimension] + (direction & 1 ? -1 : 1);
    if (next < 0 || next >= size) {
      const twists = size === this.short;
      if (!this.wraps[dimension] && !twists) return -1;
      this.sizes.forEach((other, place) => {
        if (twists && other !== size) coordinates[place] = (coordinates[place] + other / 2) % other;
      });
    }
    coordinates[dimension] = (next + size) % size;
    return this.node(coordinates);
  }

  source(link) {
    return Math.floor(link / this.directions.length);
  }

  /** The links that leave a node, existing or not. */
  leaving(node) {
    return this.directions.map((_, direction) => node * this.directions.length + direction);
  }

  /** The node that a key leads to: arrows in the first two dimensions, pages in the third. */
  neighbour(node, key) {
    const direction = ["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "PageUp", "PageDown"].indexOf(key);
    return direction < 0 || direction >= this.directions.length ? -1 : this.target(this.leaving(node)[direction]);
  }

  exists(link) {
    return !this.failed.has(link) && this.target(link) >= 0;
  }

  nodeName(node) {
    return `(${this.coordinates(node).join(",")})`;
  }

  linkName(link) {
    const direction = link % this.directions.length;
    return this.nodeName((link - direction) / this.directions.length) + this.directions[direction];
  }

  /** Where a link of a twisted torus leads; elsewhere its name says it. */
  linkEnd(link) {
    return this.short ? ` to ${this.nodeName(this.target(link))}` : "";
  }
}

/** Nodes and links in any arrangement, drawn at the places that come along. */
export class Wires {
  constructor(head, buffer) {
    const columns = {};
    for (const [name, place] of Object.entries(head.columns)) columns[name] = column(place, buffer);
    this.places = columns;
    this.names = head.names;
    this.labels = head.labels;
    this.nodes = columns.x.length;
    this.links = columns.from.length;
    this.failed = new Set(head.failed_links);
    this.failedNodes = new Set(head.failed_nodes);
    this.out = Array.from({ length: this.nodes }, () => []);
    columns.from.forEach((node, link) => this.out[node].push(link));
  }

  target(link) {
    return this.places.to[link];
  }

  source(link) {
    return this.places.from[link];
  }

  exists(link) {
    return !this.failed.has(link);
  }

  leaving(node) {
    return this.out[node];
  }

  neighbour(node, key) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowUp: 1, ArrowDown: -1 }[key];
    return step ? (node + step + this.nodes) % this.nodes : -1;
  }

  nodeName(node) {
    return this.names[node];
  }

  linkName(link) {
    const { from, to } = this.places;
    const same = this.out[from[link]].filter((other) => to[other] === to[link]);
    const which = same.length > 1 ? ` (${same.indexOf(link) + 1} of ${same.length})` : "";
    return `${this.names[from[link]]} -> ${this.names[to[link]]}${which}`;
  }

  linkEnd() {
    return "";
  }
}

/** What exists, as its head says. */
function fabricOf(head, buffer) {
  return head.columns ? new Wires(head, buffer) : new Fabric(head);
}

/** The places of the largest values, largest first and the first of equals first. */
export function largest(values, count) {
  const found = [];
  values.forEach((value, place) => {
    if (found.length === count && value <= values[found[count - 1]]) return;
    const before = found.findIndex((other) => values[other] < value);
    found.splice(before < 0 ? found.length : before, 0, place);
    found.length = Math.min(found.length, count);
  });
  return found;
}

/** A round step between ticks, at least so large. */
export function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? 10 * power;
}

/** One simulation: link states by cycle, packets, and their hops. */
export class Run {
  constructor(head, buffer) {
    // Cycles that a header takes through a router beside its link.
    Object.assign(this, { router: 0, part: "slice" }, head);
    this.fabric = fabricOf(head.fabric, buffer);
    this.time = "cycle";
    this.unit = "flits";
    this.columns = {};
    for (const [name, place] of Object.entries(head.columns)) this.columns[name] = column(place, buffer);
    this.packets = this.columns.source.length;
    this._index();
  }

  /** Hops by link, and flits by link and cycle, counted once. */
  _index() {
    const { link, packet, head, duration, flits } = this.columns;
    const links = this.fabric.links;
    this.flits = new Uint32Array(links);
    const begin = new Uint32Array(links + 1);
    for (let hop = 0; hop < link.length; hop++) {
      begin[link[hop] + 1]++;
      this.flits[link[hop]] += flits[hop];
    }
    for (let index = 0; index < links; index++) begin[index + 1] += begin[index];
    const fill = begin.slice(0, links);
    const byLink = new Uint32Array(link.length);
    for (let hop = 0; hop < link.length; hop++) byLink[fill[link[hop]]++] = hop;
    this.hopsByLink = { begin, hops: byLink };
    const hopBegin = new Uint32Array(this.packets + 1);
    for (let hop = 0; hop < packet.length; hop++) hopBegin[packet[hop] + 1]++;
    for (let index = 0; index < this.packets; index++) hopBegin[index + 1] += hopBegin[index];
    this.hopBegin = hopBegin;
    this.first = new Int32Array(links).fill(-1);
    this.last = new Int32Array(links).fill(-1);
    for (let hop = 0; hop < link.length; hop++) {
      const at = link[hop];
      if (this.first[at] < 0 || head[hop] < this.first[at]) this.first[at] = head[hop];
      this.last[at] = Math.max(this.last[at], head[hop] + duration[hop]);
    }
    this.mostFlits = this.flits.reduce((most, value) => Math.max(most, value), 0);
    this._leave();
  }

  /** Where links lead, and the cycle in which the last flit of every hop leaves the buffer behind its link. */
  _leave() {
    const { packet, head, duration, flits, arrival } = this.columns;
    this.ends = Int32Array.from({ length: this.fabric.links }, (_, at) => this.fabric.target(at));
    this.leaves = new Uint32Array(head.length).fill(this.cycles);
    for (let hop = 0; hop < head.length; hop++) {
      const next = hop + 1;
      if (packet[next] !== packet[hop]) {
        if (arrival[packet[hop]] >= 0) this.leaves[hop] = arrival[packet[hop]];
      } else if (flits[next] === flits[this.hopBegin[packet[hop]]]) this.leaves[hop] = head[next] + duration[next];
    }
  }

  /** How many buffers of every node hold flits in a cycle: those behind the links that lead to it, by channel. */
  buffersInUse(cycle) {
    const { link, head, channel } = this.columns;
    const used = new Uint32Array(this.fabric.nodes);
    const seen = new Set();
    for (let hop = 0; hop < head.length; hop++) {
      if (head[hop] + this.latency > cycle || cycle > this.leaves[hop]) continue;
      const buffer = link[hop] * 256 + channel[hop];
      if (!seen.has(buffer)) used[this.ends[link[hop]]]++;
      seen.add(buffer);
    }
    return used;
  }

  /** The node that a packet goes to, or -1 where it does not reach it. */
  destination(packet) {
    return this.columns.destination[packet];
  }

  /** Mean latency of the packets that begin in some cycles, and the load that is accepted in them. */
  measured(begin, end) {
    const { start, arrival, flits } = this.columns;
    let [packets, age, ejected] = [0, 0, 0];
    for (let packet = 0; packet < this.packets; packet++) {
      if (arrival[packet] < 0) continue;
      if (arrival[packet] >= begin && arrival[packet] < end) ejected += flits[this.hopBegin[packet]] ?? 0;
      if (start[packet] < begin || start[packet] >= end) continue;
      packets++;
      age += arrival[packet] + 2 - start[packet];
    }
    const working = this.fabric.nodes - this.fabric.failedNodes.size;
    return {
      latency: packets ? age / packets : null,
      accepted: ejected / working / Math.max(1, end - begin),
    };
  }

  /** What a link does in a cycle: 0 idle, 255 blocked, otherwise 1 + the slice of its flit. */
  state(link, cycle) {
    return cycle < this.cycles ? this.columns.link_time[link * this.cycles + cycle] : IDLE;
  }

  /** Links that carry a flit and links that are blocked in a cycle. */
  count(cycle) {
    let busy = 0;
    let blocked = 0;
    if (cycle < this.cycles) {
      const cells = this.columns.link_time;
      for (let place = cycle; place < cells.length; place += this.cycles) {
        const cell = cells[place];
        if (cell === BLOCKED) blocked++;
        else if (cell !== IDLE) busy++;
      }
    }
    return { busy, blocked };
  }

  /** Packets on a link in a cycle, the one whose flit crosses first. */
  packetsOn(link, cycle) {
    const { packet, head, duration, slice } = this.columns;
    const crossing = this.state(link, cycle) - 1;
    const found = [];
    for (let index = this.hopsByLink.begin[link]; index < this.hopsByLink.begin[link + 1]; index++) {
      const hop = this.hopsByLink.hops[index];
      if (head[hop] <= cycle && cycle <= head[hop] + duration[hop]) found.push(packet[hop]);
    }
    return found.sort((one, other) => (slice[other] === crossing) - (slice[one] === crossing));
  }

  /** A packet's hops, in order. */
  hops(packet) {
    const hops = [];
    for (let hop = this.hopBegin[packet]; hop < this.hopBegin[packet + 1]; hop++) hops.push(hop);
    return hops;
  }

  /** Directions and numbers of hops of a packet's way so far: "+x3 -y2". */
  route(packet) {
    const legs = [];
    for (const hop of this.hops(packet)) {
      const name = this.fabric.directions[this.columns.link[hop] % this.fabric.directions.length];
      if (legs.length && legs.at(-1).name === name) legs.at(-1).count++;
      else legs.push({ name, count: 1 });
    }
    return legs.map((leg) => leg.name + leg.count).join(" ") || "no hops";
  }

  /** Cycles in which a packet's header stood still on its way, injection included. */
  waited(packet) {
    const { head, start, injected } = this.columns;
    const hops = this.hops(packet);
    let waited = injected[packet] - start[packet];
    if (hops.length && this.entry != null) waited += head[hops[0]] - injected[packet] - this.entry;
    for (let index = 1; index < hops.length; index++) {
      waited += head[hops[index]] - head[hops[index - 1]] - this.latency - this.router;
    }
    return waited;
  }

  describePacket(packet) {
    const { source, destination, slice, start, arrival } = this.columns;
    const to = destination[packet] >= 0 ? this.fabric.nodeName(destination[packet]) : "a node it does not reach";
    const end = arrival[packet] >= 0 ? `delivered in cycle ${arrival[packet]}` : "not delivered";
    return (
      `Packet from ${this.fabric.nodeName(source[packet])} to ${to}, ${this.part} ${slice[packet] + 1}, ` +
      `route ${this.route(packet)}: ready in cycle ${start[packet]}, ${end}, waited ${this.waited(packet)} cycles.`
    );
  }

  describeState(link, cycle) {
    const cell = this.state(link, cycle);
    if (cell === IDLE) return "is idle";
    return cell === BLOCKED ? "is blocked" : `carries a flit of ${this.part} ${cell < 254 ? cell : "254 or later"}`;
  }

  describeNow(cycle) {
    const { busy, blocked } = this.count(cycle);
    const used = this.buffersInUse(cycle).reduce((sum, count) => sum + count, 0);
    return `cycle ${cycle}: ${busy} links busy, ${blocked} blocked; buffers with flits: ${used}`;
  }

  /** What a link does in words, with the packet on it and the links of its way. */
  describeLink(link, cycle, packet) {
    const flits = this.flits[link];
    const used = flits ? `${flits} flits in cycles ${this.first[link]} to ${this.last[link]}` : "never used";
    const words = `Link ${this.fabric.linkName(link)}${this.fabric.linkEnd(link)}: ${used}; in cycle ${cycle} it ${this.describeState(link, cycle)}.`;
    return packet == null ? [words] : [words, this.describePacket(packet)];
  }

  path(packet) {
    return this.hops(packet).map((hop) => this.columns.link[hop]);
  }
}

const COPY = 1;
const SUM = 2;
/** Names of idle links that are listed. */
const LISTED = 12;

/** A plan of a collective operation: what every link does in every step, a chunk at most. */
export class Steps {
  constructor(head, buffer) {
    Object.assign(this, head);
    this.fabric = fabricOf(head.fabric, buffer);
    this.time = "step";
    this.unit = "steps";
    this.columns = {};
    for (const [name, place] of Object.entries(head.columns)) this.columns[name] = column(place, buffer);
    const { step, link, adds } = this.columns;
    const { links } = this.fabric;
    this.flits = new Uint32Array(links);
    this.moveAt = new Int32Array(links * this.cycles).fill(-1);
    this.columns.link_time = new Uint8Array(links * this.cycles);
    for (let move = 0; move < step.length; move++) {
      const place = link[move] * this.cycles + step[move];
      this.flits[link[move]]++;
      this.moveAt[place] = move;
      this.columns.link_time[place] = adds[move] ? SUM : COPY;
    }
    this.mostFlits = this.flits.reduce((most, value) => Math.max(most, value), 0);
    this.working = Array.from({ length: links }, (_, at) => at).filter((at) => this.fabric.exists(at));
  }

  state(link, step) {
    return step < this.cycles ? this.columns.link_time[link * this.cycles + step] : IDLE;
  }

  packetsOn(link, step) {
    const move = step < this.cycles ? this.moveAt[link * this.cycles + step] : -1;
    return move < 0 ? [] : [move];
  }

  /** Moves of the same chunk up to the step of one of them. */
  before(move) {
    const { step, owner, target, chunk } = this.columns;
    const found = [];
    for (let other = 0; other < step.length; other++) {
      const same = owner[other] === owner[move] && chunk[other] === chunk[move];
      if (same && (!target || target[other] === target[move]) && step[other] <= step[move]) found.push(other);
    }
    return found;
  }

  path(move) {
    const links = this.before(move).map((other) => this.columns.link[other]);
    return [...links.filter((link) => link !== this.columns.link[move]), this.columns.link[move]];
  }

  chunkName(move) {
    const { owner, target, chunk } = this.columns;
    const node = this.fabric.nodeName(owner[move]);
    const number = this.chunks > 1 ? `chunk ${chunk[move]}` : "the chunk";
    if (target) return `${number} of node ${node} for node ${this.fabric.nodeName(target[move])}`;
    return `${number} ${this.operation === "scatter" ? "for" : "of"} node ${node}`;
  }

  describeNow(step) {
    const counts = [0, 0, 0];
    const idle = [];
    for (const link of this.working) {
      const state = this.state(link, step);
      counts[state]++;
      if (state === IDLE && idle.length < LISTED) idle.push(this.fabric.linkName(link));
    }
    const more = counts[IDLE] > idle.length ? `, and ${counts[IDLE] - idle.length} more` : "";
    const names = idle.length ? `: ${idle.join(", ")}${more}` : "";
    return `step ${step}: ${counts[COPY]} links carry copies, ${counts[SUM]} partial sums, ${counts[IDLE]} idle${names}`;
  }

  describeLink(link, step, move) {
    const name = this.fabric.linkName(link) + this.fabric.linkEnd(link);
    const busy = `Link ${name}: busy in ${this.flits[link]} of ${this.cycles} steps`;
    if (move == null) return [`${busy}; idle in step ${step}.`];
    const kind = this.columns.adds[move] ? "a partial sum of " : "";
    const at = this.columns.step[move];
    const before = this.before(move).length;
    return [`${busy}; in step ${at} it carries ${kind}${this.chunkName(move)}, move ${before} of this chunk.`];
  }

  /** Links that are busy least, least first. */
  leastBusy(count) {
    return [...this.working].sort((one, other) => this.flits[one] - this.flits[other]).slice(0, count);
  }
}

/** Loads of links: of routing tables, with the routes where they are small enough to come along, or of ranks. */
export class Tables {
  constructor(head, buffer) {
    Object.assign(this, head);
    this.fabric = fabricOf(head.fabric, buffer);
    this.unit ??= "routes";
    this.flits = head.columns.load ? column(head.columns.load, buffer) : new Uint32Array(this.fabric.links);
    this.mostFlits = this.flits.reduce((most, value) => Math.max(most, value), 0);
    this.legs = head.columns.legs ? column(head.columns.legs, buffer) : null;
    /** Colour and text of every node; group 0 is a node without. */
    this.groups = head.columns.groups ? column(head.columns.groups, buffer) : null;
    if (!this.legs) return;
    const hops = column(head.columns.hops, buffer);
    this.begins = new Uint32Array(hops.length + 1);
    for (let pair = 0; pair < hops.length; pair++) this.begins[pair + 1] = this.begins[pair] + hops[pair];
  }

  describeLink(link) {
    const load = this.columns.load ? `load ${this.flits[link]} of at most ${this.mostFlits} ${this.unit}` : "a cable in this direction";
    const ends = [this.fabric.source(link), this.fabric.target(link)].filter((node) => this.texts?.[node]);
    const sits = ends.map((node) => `${this.fabric.nodeName(node)} has ${this.text_words.join(this.texts[node])}`).join(", ");
    return [`Link ${this.fabric.linkName(link)}${this.fabric.linkEnd(link)}: ${load}.${sits ? ` Node ${sits}.` : ""}`];
  }

  /** Links of the route from one node to another; null where it is not known. */
  between(source, destination) {
    if (!this.legs) return null;
    const pair = source * this.fabric.nodes + destination;
    const links = [];
    let node = source;
    for (let index = this.begins[pair]; index < this.begins[pair + 1]; index++) {
      const link = node * this.fabric.directions.length + this.legs[index];
      links.push(link);
      node = this.fabric.target(link);
    }
    return links;
  }
}

/** What a page shows, by the kind that its head names. */
export function shownOf(head, buffer) {
  return new { run: Run, steps: Steps, tables: Tables }[head.kind](head, buffer);
}
