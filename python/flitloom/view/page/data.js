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

/** What exists: nodes, links and their names; node = x + y * sizes[0] + ..., link = node * directions + direction. */
export class Fabric {
  constructor(head) {
    this.sizes = head.sizes;
    this.wraps = head.wraps;
    this.directions = head.directions;
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
    if ((next < 0 || next >= size) && !this.wraps[dimension]) return -1;
    coordinates[dimension] = (next + size) % size;
    return this.node(coordinates);
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
    Object.assign(this, head);
    this.fabric = new Fabric(head.fabric);
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
    for (let index = 1; index < hops.length; index++) {
      waited += head[hops[index]] - head[hops[index - 1]] - this.latency;
    }
    return waited;
  }

  describePacket(packet) {
    const { source, destination, slice, start, arrival } = this.columns;
    const to = destination[packet] >= 0 ? this.fabric.nodeName(destination[packet]) : "a node it does not reach";
    const end = arrival[packet] >= 0 ? `delivered in cycle ${arrival[packet]}` : "not delivered";
    return (
      `Packet from ${this.fabric.nodeName(source[packet])} to ${to}, slice ${slice[packet] + 1}, ` +
      `route ${this.route(packet)}: ready in cycle ${start[packet]}, ${end}, waited ${this.waited(packet)} cycles.`
    );
  }

  describeState(link, cycle) {
    const cell = this.state(link, cycle);
    if (cell === IDLE) return "idle";
    return cell === BLOCKED ? "blocked" : `carries a flit of slice ${cell}`;
  }
}

/** Routing tables: loads of links, and the routes where they are small enough to come along. */
export class Tables {
  constructor(head, buffer) {
    Object.assign(this, head);
    this.fabric = new Fabric(head.fabric);
    this.flits = column(head.columns.load, buffer);
    this.mostFlits = this.flits.reduce((most, value) => Math.max(most, value), 0);
    this.legs = head.columns.legs ? column(head.columns.legs, buffer) : null;
    if (!this.legs) return;
    const hops = column(head.columns.hops, buffer);
    this.begins = new Uint32Array(hops.length + 1);
    for (let pair = 0; pair < hops.length; pair++) this.begins[pair + 1] = this.begins[pair] + hops[pair];
  }

  /** Links of the route from one node to another; null where it is not known. */
  path(source, destination) {
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
