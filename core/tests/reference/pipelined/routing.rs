//! Which outputs and channels a packet may ask for.

use super::{Network, Packet, numbers::Numbers, settings::Settings};

/// A range of channels of an output; of several the higher rank comes first.
#[derive(Clone, Copy)]
pub struct Way {
    pub port: usize,
    pub first: usize,
    pub last: usize,
    pub rank: i64,
}

impl Way {
    pub fn channels(self) -> std::ops::RangeInclusive<usize> {
        self.first..=self.last
    }
}

/// The port that leads along the lowest dimension in which two nodes of a mesh differ, or along the highest one.
fn mesh_port(settings: &Settings, here: usize, there: usize, lowest: bool) -> usize {
    let (x, y) = (settings.coordinates(here), settings.coordinates(there));
    let mut differing = (0..settings.dimensions).filter(|&d| x[d] != y[d]);
    let dimension = if lowest { differing.next() } else { differing.next_back() };
    dimension.map_or(settings.ports() - 1, |d| if y[d] > x[d] { 2 * d } else { 2 * d + 1 })
}

/// Port and half on a torus, in dimension order.
fn torus_port(
    settings: &Settings,
    (here, entry): (usize, usize),
    packet: &mut Packet,
    numbers: &mut Numbers,
) -> usize {
    let (x, y) = (settings.coordinates(here), settings.coordinates(packet.destination));
    let radix = settings.radix;
    let d = (0..settings.dimensions).find(|&d| x[d] != y[d]).expect("not at its destination");
    if entry / 2 == d && entry < settings.ports() - 1 {
        return Settings::opposite(entry);
    }
    let distance_up = (y[d] + radix - x[d]) % radix;
    let goes_up = match (2 * distance_up).cmp(&radix) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Greater => false,
        std::cmp::Ordering::Equal => numbers.upto(1) == 1,
    };
    packet.upper_half = if settings.routing == "dim_order" {
        x[d] > y[d]
    } else {
        let wraps = if goes_up { y[d] < x[d] } else { y[d] > x[d] };
        let (low, high) = (x[d].min(y[d]), x[d].max(y[d]));
        let middle = (radix - 1) / 2;
        if wraps {
            true
        } else if low <= middle && high > middle {
            false
        } else {
            numbers.upto(1) == 1
        }
    };
    2 * d + usize::from(!goes_up)
}

impl Network<'_> {
    /// The ways of a packet in a router which it enters by a port and in a channel.
    pub fn ways(&mut self, router: usize, (entry, channel): (usize, usize), number: usize) -> Vec<Way> {
        let settings = &self.settings;
        let packet = &mut self.packets[number];
        let there = packet.destination;
        let (processor, last) = (settings.ports() - 1, settings.channels - 1);
        let way = |port, first, last, rank| Way { port, first, last, rank };
        let half = settings.channels / 2;
        let (lower, upper) = ((0, last - half), (half, last));
        let is_first = entry == processor;
        if matches!(settings.routing.as_str(), "romm" | "valiant") {
            if is_first {
                packet.middle = match settings.routing.as_str() {
                    "romm" => between(settings, router, there, &mut self.numbers),
                    _ => self.numbers.upto(settings.nodes() - 1),
                };
                packet.upper_half = false;
            }
            packet.upper_half |= packet.middle == router;
        }
        if router == there && (settings.routing != "valiant" || packet.upper_half) {
            return vec![way(processor, 0, last, 0)];
        }
        let (port, (first, last)) = match settings.routing.as_str() {
            "dor" => (mesh_port(settings, router, there, true), (0, last)),
            "dim_order" | "dim_order_bal" => {
                let port = torus_port(settings, (router, entry), packet, &mut self.numbers);
                (port, if packet.upper_half { upper } else { lower })
            }
            "xy_yx" | "adaptive_xy_yx" => {
                let (xy, yx) =
                    (mesh_port(settings, router, there, true), mesh_port(settings, router, there, false));
                let goes_xy = if !is_first {
                    channel < half
                } else if settings.routing == "xy_yx" {
                    self.numbers.upto(1) == 1
                } else {
                    let load = |port: usize| self.routers[router].load(port);
                    match load(xy).cmp(&load(yx)) {
                        std::cmp::Ordering::Less => true,
                        std::cmp::Ordering::Greater => false,
                        std::cmp::Ordering::Equal => self.numbers.upto(1) == 1,
                    }
                };
                if goes_xy { (xy, lower) } else { (yx, upper) }
            }
            "romm" | "valiant" => {
                let goal = if packet.upper_half { there } else { packet.middle };
                let half = if packet.upper_half { upper } else { lower };
                // Who passes its destination on the way to the drawn node may use all channels there.
                (mesh_port(settings, router, goal, true), if router == there { (0, last) } else { half })
            }
            "min_adapt" => {
                let port = mesh_port(settings, router, there, true);
                let mut ways = vec![way(port, 0, 0, 0)];
                if channel > 0 || is_first {
                    ways.insert(0, way(port, 1, last, 1));
                }
                return ways;
            }
            other => panic!("{other} is not known here"),
        };
        vec![way(port, first, last, 0)]
    }
}

/// A node drawn between two.
fn between(settings: &Settings, here: usize, there: usize, numbers: &mut Numbers) -> usize {
    let (x, y) = (settings.coordinates(here), settings.coordinates(there));
    let drawn: Vec<usize> = x.iter().zip(&y).map(|(&a, &b)| a.min(b) + numbers.upto(a.abs_diff(b))).collect();
    settings.node(&drawn)
}
