use super::{Seen, Surroundings};
use crate::fabric::{Direction, NodeId};
use crate::routing::{Came, ChannelRule};
use crate::save::SaveError;
use crate::visit::{Visited, Visitor};
use std::ops::Range;

/// Which channel a register shows behind a dateline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Following {
    /// Its own.
    Never,
    /// The one a packet would use.
    Datelines,
}

/// How busy queues are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegisterSettings {
    /// A queue with at most so many free places is busy, in flits.
    pub margin: u16,
    /// Bits of a register: hops it shows.
    pub length: u16,
    /// One update per link and cycle.
    pub shared: bool,
    /// Which channel is shown behind a dateline.
    pub following: Following,
}

const NONE: u32 = u32::MAX;

/// A register of bits for every link output (node, direction, channel): in cycle t, bit k says whether
/// the buffer k + 1 hops ahead was busy at the start of cycle t - k (state-propagation-throttling-2015,
/// Section 4).
#[derive(Clone, Debug)]
pub struct Registers {
    settings: RegisterSettings,
    directions: usize,
    channels: usize,
    /// Words of one register.
    words: usize,
    bits: Vec<u64>,
    /// Scratch for the next cycle.
    next: Vec<u64>,
    /// Nodes that have registers here, and nodes of a row: in a part the registers of the row before it and of
    /// the row behind it follow, as they were told.
    nodes: usize,
    row: usize,
    /// Per output: the output whose register is taken over, [`NONE`] without a link.
    source: Vec<u32>,
    /// Per link, when it is shared: the channel that is looked at first.
    pointers: Vec<u8>,
}

impl Registers {
    /// Registers of an empty network.
    pub fn new(around: Surroundings, settings: RegisterSettings) -> Self {
        let (shape, channels) = (around.shape, around.rule.channels());
        let directions = shape.directions();
        let outputs = shape.nodes() * directions * usize::from(channels);
        let words = usize::from(settings.length).div_ceil(64);
        let mut source = Vec::with_capacity(outputs);
        for node in 0..shape.nodes() as NodeId {
            for direction in (0..directions).map(Direction::from_index) {
                let other = shape.neighbour(node, direction);
                for channel in 0..channels {
                    source.push(other.map_or(NONE, |other| {
                        let channel = match settings.following {
                            Following::Never => channel,
                            Following::Datelines => follow(around.rule, around, other, direction, channel),
                        };
                        (other * directions as u32 + direction.index() as u32) * u32::from(channels)
                            + u32::from(channel)
                    }));
                }
            }
        }
        Self {
            settings,
            directions,
            channels: channels.into(),
            words,
            nodes: shape.nodes(),
            row: shape.nodes() / shape.sizes().last().map_or(1, |&size| size as usize),
            bits: vec![0; outputs * words],
            next: vec![0; outputs * words],
            source,
            pointers: if settings.shared { vec![0; shape.nodes() * directions] } else { Vec::new() },
        }
    }

    fn output(&self, node: NodeId, direction: Direction, channel: u8) -> usize {
        (node as usize * self.directions + direction.index()) * self.channels + usize::from(channel)
    }

    fn of(&self, output: usize) -> &[u64] {
        &self.bits[output * self.words..(output + 1) * self.words]
    }

    /// One cycle further.
    pub fn observe(&mut self, seen: &impl Seen) {
        let mut outputs = 0..self.source.len();
        for link in 0..self.source.len() / self.channels {
            let (node, direction) = (link / self.directions, Direction::from_index(link % self.directions));
            for (channel, output) in (0..self.channels as u8).zip(&mut outputs) {
                let free = seen.free(node as NodeId, direction, channel);
                self.shift(output, free.is_some_and(|free| free <= self.settings.margin));
            }
        }
        if self.settings.shared {
            self.share();
        }
        std::mem::swap(&mut self.bits, &mut self.next);
    }

    /// Words of the registers of a node.
    fn of_node(&self) -> usize {
        self.directions * self.channels * self.words
    }

    /// Those of some of the nodes, whole rows, of a network.
    pub(crate) fn part(&self, nodes: Range<usize>) -> Self {
        let outputs = self.directions * self.channels;
        let all = self.nodes;
        // A neighbour that is not among them is in the row before or behind.
        let here = |(output, &source): (usize, &u32)| {
            let (node, rest) = (source as usize / outputs, source as usize % outputs);
            let node = match node {
                _ if source == NONE => return NONE,
                node if nodes.contains(&node) => node - nodes.start,
                node if (output / self.channels % self.directions).is_multiple_of(2) => {
                    nodes.len() + self.row + (node + all - nodes.end % all) % all
                }
                node => nodes.len() + (node + self.row + all - nodes.start) % all,
            };
            (node * outputs + rest) as u32
        };
        let range = nodes.start * outputs..nodes.end * outputs;
        let mut bits = self.bits[range.start * self.words..range.end * self.words].to_vec();
        bits.resize((nodes.len() + 2 * self.row) * self.of_node(), 0);
        let links = if self.settings.shared {
            nodes.start * self.directions..nodes.end * self.directions
        } else {
            0..0
        };
        Self {
            nodes: nodes.len(),
            next: bits.clone(),
            bits,
            source: (0..).zip(&self.source[range]).map(here).collect(),
            pointers: self.pointers[links].to_vec(),
            ..*self
        }
    }

    /// What the registers of a row of a direction show, from its first node on.
    pub(crate) fn send_halo(&self, direction: Direction, first: usize, row: usize, words: &mut Vec<u64>) {
        for node in first..first + row {
            let output = self.output(node as NodeId, direction, 0);
            words.extend_from_slice(&self.bits[output * self.words..][..self.channels * self.words]);
        }
    }

    /// Takes what the row before or behind told of the direction that leads on there.
    pub(crate) fn receive_halo(&mut self, side: usize, words: &[u64]) {
        // Plus is before minus.
        let direction = Direction::from_index(self.directions - 1 - side);
        let told = self.channels * self.words;
        for (node, words) in (self.nodes + side * self.row..).zip(words.chunks_exact(told)) {
            let output = self.output(node as NodeId, direction, 0);
            self.bits[output * self.words..][..told].copy_from_slice(words);
        }
    }

    /// How they are told.
    pub fn settings(&self) -> RegisterSettings {
        self.settings
    }

    /// Shows the registers to a visitor.
    pub(crate) fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        let own = self.nodes * self.of_node();
        // What they were made of, and those of the next cycle.
        let Self {
            settings: _,
            directions: _,
            channels,
            words: _,
            nodes: _,
            row: _,
            source: _,
            next: _,
            bits,
            pointers,
        } = self;
        visitor.numbers("registers", &mut bits[..own])?;
        visitor.numbers("channels to be told next", pointers)?;
        match pointers.iter().find(|&&pointer| usize::from(pointer) >= *channels) {
            None => Ok(()),
            Some(&pointer) => {
                Err(SaveError::Value { field: "channels to be told next", value: pointer.into() })
            }
        }
    }

    /// What a register is to be: the one ahead, one place further.
    fn shift(&mut self, output: usize, busy: bool) {
        let (first, mut carry) = (output * self.words, u64::from(busy));
        let source = self.source[output];
        for word in 0..self.words {
            let ahead = if source == NONE { 0 } else { self.bits[source as usize * self.words + word] };
            self.next[first + word] = ahead << 1 | carry;
            carry = ahead >> 63;
        }
        let used = u32::from(self.settings.length) % 64;
        if used > 0 {
            self.next[first + self.words - 1] &= (1 << used) - 1;
        }
    }

    /// Of the channels of a link whose registers are to change beyond bit 0, the first from the pointer
    /// on changes as a whole, the others in bit 0 alone.
    fn share(&mut self) {
        for (link, pointer) in self.pointers.iter_mut().enumerate() {
            let range = |channel: usize| {
                let first = (link * self.channels + channel) * self.words;
                first..first + self.words
            };
            let changes = |channel: &usize| {
                let (old, new) = (&self.bits[range(*channel)], &self.next[range(*channel)]);
                (old[0] ^ new[0]) >> 1 != 0 || old[1..] != new[1..]
            };
            let mut turn = (0..self.channels).map(|step| (usize::from(*pointer) + step) % self.channels);
            let chosen = turn.find(changes);
            for channel in (0..self.channels).filter(|&channel| Some(channel) != chosen) {
                let known = self.next[range(channel)][0] & 1;
                self.next[range(channel)].copy_from_slice(&self.bits[range(channel)]);
                let first = &mut self.next[range(channel)][0];
                *first = *first & !1 | known;
            }
            if let Some(chosen) = chosen {
                *pointer = ((chosen + 1) % self.channels) as u8;
            }
        }
    }

    /// Busy buffers among the first `hops` ahead.
    pub fn busy_ahead(&self, node: NodeId, direction: Direction, channel: u8, hops: u32) -> u32 {
        let register = self.of(self.output(node, direction, channel));
        let of_word = |(place, word): (usize, &u64)| {
            let left = hops.saturating_sub(64 * place as u32);
            (if left >= 64 { *word } else { word & ((1 << left) - 1) }).count_ones()
        };
        register.iter().enumerate().map(of_word).sum()
    }

    /// Whether any bit of a register is set.
    pub fn any(&self, node: NodeId, direction: Direction, channel: u8) -> bool {
        self.of(self.output(node, direction, channel)).iter().any(|&word| word != 0)
    }

    /// Channels per link.
    pub fn channels(&self) -> u8 {
        self.channels as u8
    }

    /// Whether no bit is set anywhere.
    pub fn is_clear(&self) -> bool {
        self.bits.iter().all(|&word| word == 0)
    }
}

/// The channel of a packet in `channel` after the straight hop out of `node`.
fn follow(rule: ChannelRule, around: Surroundings, node: NodeId, direction: Direction, channel: u8) -> u8 {
    rule.next(channel, rule.rises(around.shape, node, direction).on(Came::Underway))
}
