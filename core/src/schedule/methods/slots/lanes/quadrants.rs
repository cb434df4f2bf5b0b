use super::super::travel::class_after;
use crate::{
    fabric::{NodeId, Shape},
    schedule::Demand,
    traffic::{Purpose, draw_below},
};
use std::collections::{BTreeMap, HashMap};

/// The packets of one pair of opposite quadrants: what every node of a diagonal has to send.
///
/// The diagonal of a node is the sum of its coordinates (or their difference, in the second epoch);
/// hops of the forward side lead one diagonal up, those of the backward side one down.
#[derive(Clone, Debug, Default)]
pub(super) struct Exchange {
    /// Number of diagonals, and cycles between two passages of a slot.
    pub lines: u32,
    /// Flits of a packet.
    pub length: u32,
    /// The backward slots pass diagonal `turn - time` when the forward ones pass `time`: at the same
    /// time at half of `turn` and, of an even number of diagonals, at the opposite one.
    pub turn: u32,
    /// Per side and class of diagonals: the hops per dimension of each packet.
    pub hops: [Vec<Vec<[u8; 2]>>; 2],
    /// Hops of all packets of a side, from one node of every diagonal.
    pub work: [u32; 2],
}

impl Exchange {
    /// The diagonal at which a packet of a side can begin or end.
    pub(super) fn line(&self, side: usize, time: u32) -> usize {
        class_after(if side == 0 { 0 } else { self.turn }, time, side == 1, self.lines) as usize
    }

    /// The diagonal some hops further on a side.
    pub(super) fn after(&self, side: usize, line: usize, hops: u32) -> usize {
        class_after(line as u32, hops, side == 1, self.lines) as usize
    }

    /// What a node of a diagonal sends on a side.
    pub(super) fn packets(&self, side: usize, line: usize) -> &[[u8; 2]] {
        &self.hops[side][line % self.hops[side].len()]
    }

    /// Number of packets of a diagonal.
    pub(super) fn number(&self, line: usize) -> usize {
        self.packets(0, line).len() + self.packets(1, line).len()
    }
}

/// Where a packet belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub epoch: usize,
    pub side: usize,
    /// Its number among those of its class of sources.
    pub number: usize,
}

/// A packet to be sent by every node of a class.
struct Item {
    class: usize,
    hops: [u8; 2],
    /// Epochs and sides whose signs suit it: more than one where it does not move in a dimension, or
    /// half way round.
    options: Vec<(usize, usize)>,
}

/// The division of an all-to-all exchange between the quadrants.
pub(super) struct Division {
    classes: u32,
    /// By class and offset of the destination.
    places: HashMap<(usize, [u32; 2]), Place>,
    /// The two epochs.
    pub exchanges: [Exchange; 2],
}

impl Division {
    /// Divides evenly: by lanes, by ports, and by the lengths of the ways, which all diagonals have
    /// to match with each other. Nodes are told apart by the parity of their diagonal only.
    pub(super) fn new(shape: &Shape, lines: u32, length: u32, seed: u64) -> Self {
        const MOVES: u64 = 20_000;
        let classes = if lines.is_multiple_of(2) { 2 } else { 1 };
        let offsets: Vec<[u32; 2]> = (0..shape.size(1))
            .flat_map(|y| (0..shape.size(0)).map(move |x| [x, y]))
            .filter(|offset| *offset != [0, 0])
            .collect();
        let items: Vec<Item> = (0..classes as usize)
            .flat_map(|class| offsets.iter().map(move |&offset| item(shape, class, offset)))
            .collect();
        let free: Vec<usize> = (0..items.len()).filter(|&index| items[index].options.len() > 1).collect();
        let random = |count: u64, purpose, below: usize| {
            draw_below(seed, purpose, Purpose::Search, count, below as u32) as usize
        };
        let mut loads = Loads { classes: classes as usize, sums: BTreeMap::new() };
        let mut chosen: Vec<(usize, usize)> = items.iter().map(|item| item.options[0]).collect();
        for (item, &option) in items.iter().zip(&chosen) {
            loads.change(item, option, 1);
        }
        for count in 0..MOVES {
            if free.is_empty() {
                break;
            }
            // One packet or two at a time: many exchanges of two keep what one would spoil.
            let moved: Vec<usize> =
                (0..1 + count as u32 % 2).map(|which| free[random(count, which, free.len())]).collect();
            let before: Vec<(usize, usize)> = moved.iter().map(|&index| chosen[index]).collect();
            let mut cost = 0;
            for (which, &index) in moved.iter().enumerate() {
                let options = &items[index].options;
                cost += loads.change(&items[index], chosen[index], -1);
                chosen[index] = options[random(count, 2 + which as u32, options.len())];
                cost += loads.change(&items[index], chosen[index], 1);
            }
            if cost > 0 {
                for (&index, &option) in moved.iter().zip(&before).rev() {
                    loads.change(&items[index], chosen[index], -1);
                    chosen[index] = option;
                    loads.change(&items[index], chosen[index], 1);
                }
            }
        }
        let empty = || Exchange {
            lines,
            length,
            turn: 0,
            work: [0; 2],
            hops: [vec![Vec::new(); classes as usize], vec![Vec::new(); classes as usize]],
        };
        let mut exchanges = [empty(), empty()];
        let mut places = HashMap::new();
        let all = (0..classes as usize).flat_map(|class| offsets.iter().map(move |&offset| (class, offset)));
        for ((key, item), (epoch, side)) in all.zip(&items).zip(chosen) {
            let list = &mut exchanges[epoch].hops[side][item.class];
            places.insert(key, Place { epoch, side, number: list.len() });
            list.push(item.hops);
            exchanges[epoch].work[side] += lines / classes * item.hops.map(u32::from).iter().sum::<u32>();
        }
        // Ports that need not wait when they change sides go to the class with more packets.
        for exchange in &mut exchanges {
            if classes == 2 && exchange.number(1) > exchange.number(0) {
                exchange.turn = 2;
            }
        }
        Self { classes, places, exchanges }
    }

    /// The place of a packet.
    pub(super) fn place(&self, shape: &Shape, demand: &Demand) -> Option<Place> {
        let coordinate = |node: NodeId, dimension| shape.coordinate(node, dimension);
        let offset = [0, 1].map(|dimension| {
            let size = shape.size(dimension);
            (coordinate(demand.destination, dimension) + size - coordinate(demand.source, dimension)) % size
        });
        let class = (coordinate(demand.source, 0) + coordinate(demand.source, 1)) % self.classes;
        self.places.get(&(class as usize, offset)).copied()
    }
}

fn item(shape: &Shape, class: usize, offset: [u32; 2]) -> Item {
    let size = [0, 1].map(|dimension| shape.size(dimension));
    let hops = [0, 1].map(|dimension| offset[dimension].min(size[dimension] - offset[dimension]) as u8);
    let suits = |dimension: usize, minus: bool| {
        let (plus, back) = (offset[dimension], size[dimension] - offset[dimension]);
        plus == 0 || plus == back || (plus > back) == minus
    };
    let options = [(0, 0), (0, 1), (1, 0), (1, 1)]
        .into_iter()
        .filter(|&(epoch, side)| (0..2).all(|dimension| suits(dimension, is_minus(epoch, side, dimension))));
    Item { class, hops, options: options.collect() }
}

/// Whether packets of an epoch and side travel in minus direction of a dimension.
pub(super) fn is_minus(epoch: usize, side: usize, dimension: usize) -> bool {
    (side == 1) ^ (epoch == 1 && dimension == 1)
}

/// Sums whose squares are to be small, with their weights.
struct Loads {
    classes: usize,
    sums: BTreeMap<(u8, usize, usize, usize, usize), i64>,
}

impl Loads {
    /// Adds or takes away a packet; by how much the weighted squares grow.
    fn change(&mut self, item: &Item, (epoch, side): (usize, usize), sign: i64) -> i64 {
        let [x, y] = item.hops.map(i64::from);
        let length = (x + y) as usize;
        // The class of the destination; there may be one class only.
        let other = if self.classes == 2 { (item.class + length) % 2 } else { 0 };
        let changes = [
            ((0, epoch, side, 0, 0), x, 4),
            ((0, epoch, side, 1, 0), y, 4),
            ((1, epoch, item.class, 0, 0), 1, 4),
            ((2, epoch, item.class, side, 0), 1, 2),
            ((3, epoch, item.class, side, length), 1, 2),
            ((4, epoch, 0, 0, 0), 1, 8),
            ((5, epoch, other, 0, 0), 1, 4),
            ((6, epoch, other, side, 0), 1, 2),
            // If one class has to have a packet more, then at both kinds of ports.
            ((7, epoch, item.class, 0, 0), 1, -1),
            ((7, epoch, other, 0, 0), 1, -1),
        ];
        let mut growth = 0;
        for (key, amount, weight) in changes {
            let sum = self.sums.entry(key).or_insert(0);
            let after = *sum + sign * amount;
            growth += weight * (after * after - *sum * *sum);
            *sum = after;
        }
        growth
    }
}
