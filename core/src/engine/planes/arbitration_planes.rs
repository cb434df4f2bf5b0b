//! Arbitration settings as planes, changed in place one router at a time.

use super::{
    arbiter::{orientation_of, precedence_of},
    block::{Precedence, Scheme, Settings},
};
use crate::{
    bits::{Vector, words_mut},
    fabric::{Direction, NodeId, Shape},
    router::{Arbitration, ChannelScheme, North, RouterConfig, Start},
    routing::Came,
};

/// The input port of flits that travel in a direction, and of the processor.
fn input_port(travel: Option<usize>, shape: &Shape) -> u8 {
    travel.map_or(shape.directions(), |direction| Direction::from_index(direction).opposite().index()) as u8
}

/// Settings of all routers, and the orders they begin with.
#[derive(Clone)]
pub(super) struct ArbitrationPlanes<V> {
    shape: Shape,
    channels: u8,
    north: North,
    /// Per node, bits of the directions in which a link crosses a dateline that counts.
    crossing: Vec<u8>,
    /// Per block.
    pub initial: Vec<Precedence<V>>,
    /// Per block, or one for all.
    settings: Vec<Settings<V>>,
}

fn write<V: Vector, const N: usize>(planes: &mut [V; N], lane: u32, bits: impl Iterator<Item = bool>) {
    for (plane, bit) in planes.iter_mut().zip(bits) {
        let word = &mut words_mut(std::slice::from_mut(plane))[lane as usize / 64];
        *word = *word & !(1 << (lane % 64)) | u64::from(bit) << (lane % 64);
    }
}

impl<V: Vector> ArbitrationPlanes<V> {
    /// The same settings for all routers, to be loaded.
    pub(super) fn new(shape: &Shape, router: &RouterConfig, blocks: usize) -> Self {
        let channels = router.channels;
        let zero = V::zero();
        let precedence = Precedence {
            x: [[zero; 1]; 2],
            y0: [[zero; 6]; 2],
            y1: [[zero; 3]; 2],
            p0: [zero; 10],
            p1: [zero; 6],
            p2: [zero; 1],
            label_x: [[zero; 1]; 2],
            label_y: [[zero; 3]; 2],
            label_p: [zero; 3],
        };
        let scheme = Scheme { rotating: zero, used_last: zero, ascending: zero };
        let settings = Settings {
            y0: [[zero; 4]; 2],
            y1: [[zero; 1]; 2],
            p0: [zero; 10],
            p1: [zero; 4],
            schemes: [scheme; 5],
        };
        let rule = router.channel_rule();
        let crosses = |node: NodeId, direction: usize| {
            rule.rises(shape, node, Direction::from_index(direction)).on(Came::Underway)
        };
        let crossing = (0..shape.nodes() as NodeId).map(|node| {
            (0..shape.directions()).map(|direction| u8::from(crosses(node, direction)) << direction).sum()
        });
        Self {
            shape: shape.clone(),
            channels,
            north: router.north,
            crossing: crossing.collect(),
            initial: vec![precedence; blocks],
            settings: vec![settings],
        }
    }

    /// The settings of a block.
    #[inline(always)]
    pub(super) fn settings(&self, block: usize) -> &Settings<V> {
        &self.settings[if self.settings.len() == 1 { 0 } else { block }]
    }

    /// Bytes of all settings.
    pub(super) fn bytes(&self) -> usize {
        std::mem::size_of_val(&self.initial[..])
            + self.crossing.len()
            + std::mem::size_of_val(&self.settings[..])
    }

    /// Sets everything; `places` gives every router of every copy with its node.
    pub(super) fn load(
        &mut self,
        arbitration: &Arbitration,
        places: impl Iterator<Item = (NodeId, u32)> + Clone,
    ) {
        let (ports, channels) = (self.shape.directions() + 1, usize::from(self.channels));
        let one_list = arbitration.port_lists.is_empty();
        let default = self.north.port_list(&self.shape);
        let shared = one_list && arbitration.schemes.len() == 1;
        if !shared {
            self.unshare();
        }
        for (node, place) in places {
            for port in 0..ports {
                let output = node as usize * ports + port;
                for channel in 0..channels {
                    let at = (output * channels + channel) * ports;
                    let list = if one_list { &default } else { &arbitration.port_lists[at..at + ports] };
                    self.set_list(node, place, port, channel as u8, list);
                }
                self.put_scheme(node, place, port, arbitration.scheme(node as usize, port, ports));
            }
        }
        if shared {
            self.fill_shared(arbitration.schemes[0], &default);
        }
    }

    /// Gives every block settings of its own.
    fn unshare(&mut self) {
        if self.settings.len() != self.initial.len() {
            self.settings = vec![self.settings[0]; self.initial.len()];
        }
    }

    /// What one block's settings say, for all lanes.
    fn fill_shared(&mut self, scheme: ChannelScheme, list: &[u8]) {
        self.settings.truncate(1);
        for lane in 0..V::BITS as u32 {
            for port in 0..5 {
                self.write_scheme(0, lane, port, scheme);
            }
            for e in 0..2 {
                self.write_y_lists(0, lane, e, 0, list);
                self.write_y_lists(0, lane, e, 1, list);
            }
            self.write_p_lists(0, lane, 0, list);
            self.write_p_lists(0, lane, 1, list);
        }
    }

    /// Port number in planes (+x, -x, +y, -y, P) of a port of the shape.
    fn plane_port(&self, port: usize) -> usize {
        if port == self.shape.directions() { 4 } else { port }
    }

    fn crosses(&self, node: NodeId, port: usize) -> bool {
        // The processor's port has no bit.
        self.crossing[node as usize] >> port & 1 == 1
    }

    /// Sets the port list of an output channel of one router.
    pub(super) fn set_port_list(&mut self, node: NodeId, place: u32, port: usize, channel: u8, list: &[u8]) {
        self.unshare();
        self.set_list(node, place, port, channel, list);
    }

    /// Sets the scheme of an output port of one router.
    pub(super) fn set_scheme(&mut self, node: NodeId, place: u32, port: usize, scheme: ChannelScheme) {
        self.unshare();
        self.put_scheme(node, place, port, scheme);
    }

    fn ranks<const N: usize>(&self, list: &[u8], travels: [Option<usize>; N]) -> [usize; N] {
        travels.map(|travel| {
            let port = input_port(travel, &self.shape);
            list.iter().position(|&entry| entry == port).unwrap_or(list.len())
        })
    }

    fn set_list(&mut self, node: NodeId, place: u32, port: usize, channel: u8, list: &[u8]) {
        let crosses = self.crosses(node, port);
        let Some(label) = channel.checked_sub(crosses.into()) else { return };
        let (block, lane) = ((place / V::BITS as u32) as usize, place % V::BITS as u32);
        match (self.plane_port(port), label) {
            (d @ 0..2, 0) => {
                let ranks = self.ranks(list, [Some(d), None]);
                write(&mut self.initial[block].x[d], lane, precedence_of(&ranks));
            }
            (port @ 2..4, label @ 0..2) => {
                let ranks = self.ranks(list, [Some(port), Some(0), Some(1), None]);
                let initial = &mut self.initial[block];
                if label == 0 {
                    write(&mut initial.y0[port - 2], lane, precedence_of(&ranks));
                } else {
                    write(&mut initial.y1[port - 2], lane, precedence_of(&ranks[..3]));
                }
                if self.settings.len() > block {
                    self.write_y_lists(block, lane, port - 2, label, list);
                }
            }
            (4, label @ 0..3) => {
                let two_dimensions = self.shape.dimensions() > 1;
                let y = |direction| two_dimensions.then_some(direction);
                let ranks = self.ranks(list, [Some(0), Some(1), y(2), y(3), None]);
                let initial = &mut self.initial[block];
                match label {
                    0 => write(&mut initial.p0, lane, precedence_of(&ranks)),
                    1 => write(&mut initial.p1, lane, precedence_of(&ranks[..4])),
                    _ => write(&mut initial.p2, lane, precedence_of(&ranks[2..4])),
                }
                if self.settings.len() > block {
                    self.write_p_lists(block, lane, label, list);
                }
            }
            _ => {}
        }
    }

    fn write_y_lists(&mut self, block: usize, lane: u32, e: usize, label: u8, list: &[u8]) {
        let ranks = self.ranks(list, [Some(2 + e), Some(0), Some(1), None]);
        let settings = &mut self.settings[block];
        if label == 0 {
            write(&mut settings.y0[e], lane, orientation_of(&ranks));
        } else {
            write(&mut settings.y1[e], lane, orientation_of(&ranks[..3]));
        }
    }

    fn write_p_lists(&mut self, block: usize, lane: u32, label: u8, list: &[u8]) {
        let ranks = self.ranks(list, [Some(0), Some(1), Some(2), Some(3), None]);
        let settings = &mut self.settings[block];
        match label {
            0 => write(&mut settings.p0, lane, orientation_of(&ranks)),
            1 => write(&mut settings.p1, lane, orientation_of(&ranks[..4])),
            _ => {}
        }
    }

    fn write_scheme(&mut self, block: usize, lane: u32, port: usize, scheme: ChannelScheme) {
        let used_last = matches!(scheme.start(), Start::After | Start::Before);
        let planes = &mut self.settings[block].schemes[port];
        for (plane, bit) in [
            (&mut planes.rotating, scheme.remembers()),
            (&mut planes.used_last, used_last),
            (&mut planes.ascending, scheme.ascending()),
        ] {
            write(std::array::from_mut(plane), lane, std::iter::once(bit));
        }
    }

    fn put_scheme(&mut self, node: NodeId, place: u32, port: usize, scheme: ChannelScheme) {
        let (block, lane) = ((place / V::BITS as u32) as usize, place % V::BITS as u32);
        let crosses = self.crosses(node, port);
        let port = self.plane_port(port);
        let labels = if port < 2 { 2 } else { 3 };
        // Labels of channels that do not exist never ask.
        let mut ranks: [usize; 3] = std::array::from_fn(|label| usize::from(self.channels) + label);
        for (rank, channel) in scheme.order(0, false, self.channels).enumerate() {
            // Over a dateline labels go one up; the last one is of packets that do not rise there.
            let label = match (crosses, usize::from(channel)) {
                (false, channel) => channel,
                (true, 0) => labels - 1,
                (true, channel) if channel < labels => channel - 1,
                (true, _) => continue,
            };
            if let Some(rank_of) = ranks.get_mut(label) {
                *rank_of = rank;
            }
        }
        let initial = &mut self.initial[block];
        match port {
            d @ 0..2 => write(&mut initial.label_x[d], lane, precedence_of(&ranks[..2])),
            y @ 2..4 => write(&mut initial.label_y[y - 2], lane, precedence_of(&ranks)),
            _ => write(&mut initial.label_p, lane, precedence_of(&ranks)),
        }
        if self.settings.len() > block {
            self.write_scheme(block, lane, port, scheme);
        }
    }
}
