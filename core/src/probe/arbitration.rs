use super::{Events, Flit, OutputChannel, Probe};
use crate::fabric::{LinkId, NodeId};
use fixedbitset::FixedBitSet;

/// How often flits had to wait for others (cup-stacking-extended-2023, 6.3). One that waits for a
/// flit of its own or an earlier slice waits in order, for one of a later slice out of order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ArbitrationCounts {
    /// `ir`: headers not granted an output channel, in order ([`Probe::queue_blocked`]).
    pub queue_in_order: u64,
    /// `or`: headers not granted an output channel, out of order.
    pub queue_out_of_order: u64,
    /// `ib`: channels not chosen by their output port, in order ([`Probe::channel_blocked`]).
    pub channel_in_order: u64,
    /// `ob`: channels not chosen by their output port, out of order.
    pub channel_out_of_order: u64,
    /// `lb`: cycles in which links stood still for full buffers, summed over all links
    /// ([`Probe::link_blocked`]).
    pub link_blocked: u64,
}

impl Probe for ArbitrationCounts {
    fn wants(&self) -> Events {
        Events::ALL
    }

    fn link_blocked(&mut self, _cycle: u64, _link: LinkId) {
        self.link_blocked += 1;
    }

    fn queue_blocked(&mut self, _cycle: u64, _output: OutputChannel, granted: Flit, blocked: Flit) {
        if granted.slice <= blocked.slice {
            self.queue_in_order += 1;
        } else {
            self.queue_out_of_order += 1;
        }
    }

    fn channel_blocked(&mut self, _cycle: u64, _output: OutputChannel, granted: Flit, blocked: Flit) {
        if granted.slice <= blocked.slice {
            self.channel_in_order += 1;
        } else {
            self.channel_out_of_order += 1;
        }
    }
}

/// Which arbitration settings mattered: a port list decides nothing where no two queues ever request
/// a channel at once, a channel scheme nothing where no two channels could ever send at once. All
/// other settings can be changed without changing the simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArbitrationUse {
    ports: usize,
    channels: usize,
    /// Output ports (`node * ports + port`) whose scheme decided.
    pub schemes: FixedBitSet,
    /// Output channels (`(node * ports + port) * channels + channel`) whose list decided.
    pub port_lists: FixedBitSet,
}

impl ArbitrationUse {
    /// Nothing used yet, for routers of `ports` ports (the processor's included).
    pub fn new(nodes: usize, ports: usize, channels: usize) -> Self {
        Self {
            ports,
            channels,
            schemes: FixedBitSet::with_capacity(nodes * ports),
            port_lists: FixedBitSet::with_capacity(nodes * ports * channels),
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.schemes.clear();
        self.port_lists.clear();
    }

    /// Whether the scheme of an output port decided.
    pub fn used_scheme(&self, node: NodeId, port: u8) -> bool {
        self.schemes.contains(node as usize * self.ports + usize::from(port))
    }

    /// Whether the list of an output channel decided.
    pub fn used_port_list(&self, output: OutputChannel) -> bool {
        self.port_lists.contains(self.port(output) * self.channels + usize::from(output.channel))
    }

    fn port(&self, output: OutputChannel) -> usize {
        output.node as usize * self.ports + usize::from(output.port)
    }
}

impl Probe for ArbitrationUse {
    fn wants(&self) -> Events {
        Events { arbitration: true, ..Events::FLITS }
    }

    fn queue_blocked(&mut self, _cycle: u64, output: OutputChannel, _granted: Flit, _blocked: Flit) {
        let place = self.port(output) * self.channels + usize::from(output.channel);
        self.port_lists.insert(place);
    }

    fn channel_blocked(&mut self, _cycle: u64, output: OutputChannel, _granted: Flit, _blocked: Flit) {
        let place = self.port(output);
        self.schemes.insert(place);
    }
}
