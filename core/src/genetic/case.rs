use super::{Chromosome, GeneticError, evaluation::Evaluator};
use crate::{
    engine::Network,
    fabric::NodeId,
    probe::OutputChannel,
    router::{Arbitration, ChannelScheme},
    routing::dimension_order_walk,
    traffic::{Collective, Destinations, PacketList, PacketSource, Workload},
};

/// Groups of genes that a search may vary; the others keep what the case gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// The interval between slices.
    pub interval: bool,
    /// Injection delays.
    pub delays: bool,
    /// Channel schemes.
    pub schemes: bool,
    /// Port lists.
    pub port_lists: bool,
}

impl Groups {
    /// Everything varies: the full search (cup-stacking-extended-2023, 5.4 (1)).
    pub const FULL: Self = Self { interval: true, delays: true, schemes: true, port_lists: true };
    /// Interval and delays: timing adjustment under fixed arbitration (4.2).
    pub const TIMING: Self = Self { interval: true, delays: true, schemes: false, port_lists: false };
    /// All but the delays: without timing adjustment (5.4 (2)).
    pub const WITHOUT_TIMING: Self = Self { interval: true, delays: false, schemes: true, port_lists: true };
}

/// What is sent over which network, and what may be chosen about it.
///
/// The interval and the delays of the collective, and the network's arbitration settings, are the
/// values of the groups of genes that do not vary.
pub struct Case<'a> {
    pub(super) network: &'a Network,
    pub(super) destinations: &'a Destinations,
    pub(super) collective: Collective,
    pub(super) groups: Groups,
    /// All slices available at once; intervals and delays are added by the engine.
    pub(super) workload: Workload,
    contention: Contention,
}

/// Upper limits of the values of genes, from the first simulation of a single slice
/// (cup-stacking-extended-2023, A.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `t_d0`: duration of a single slice in unison.
    pub height: u64,
    /// `T_e` of it.
    pub thickness: u64,
    /// Smallest interval: the slice length `l_c`.
    pub first_interval: u64,
    /// Largest interval.
    pub last_interval: u64,
    /// Largest injection delay.
    pub last_delay: u64,
}

impl<'a> Case<'a> {
    /// Prepares a case.
    ///
    /// # Errors
    /// The collective does not fit the network.
    pub fn new(
        network: &'a Network,
        destinations: &'a Destinations,
        collective: Collective,
        groups: Groups,
    ) -> Result<Self, GeneticError> {
        let nodes = network.fabric().shape().nodes();
        collective.packet_list(nodes, destinations)?;
        let unison = Collective { interval: 0, delays: Vec::new(), ..collective.clone() };
        let packets = unison.packet_list(nodes, destinations)?;
        let contention = Contention::new(network, &packets);
        Ok(Self {
            network,
            destinations,
            collective,
            groups,
            workload: Workload::Packets(packets),
            contention,
        })
    }

    /// The same with another number of slices of the same length.
    ///
    /// # Errors
    /// There are no slices, or too many.
    pub fn with_slices(&self, slices: u32) -> Result<Self, GeneticError> {
        let payload = (self.collective.slice_length() - 1).saturating_mul(slices);
        let collective = Collective { payload, slices, ..self.collective.clone() };
        Self::new(self.network, self.destinations, collective, self.groups)
    }

    /// What is sent.
    pub fn collective(&self) -> &Collective {
        &self.collective
    }

    /// Whether there are consecutive slices, so that the interval matters.
    pub(super) fn has_interval(&self) -> bool {
        self.collective.sequence_length() > 1
    }

    /// Packets of all nodes.
    pub(super) fn packets(&self) -> u64 {
        self.workload.count().unwrap_or(0)
    }

    pub(super) fn nodes(&self) -> usize {
        self.network.fabric().shape().nodes()
    }

    pub(super) fn ports(&self) -> usize {
        self.network.fabric().shape().directions() + 1
    }

    pub(super) fn channels(&self) -> usize {
        self.network.router().channels.into()
    }
}

/// Where packets of a case can meet.
struct Contention {
    /// Per `(node * ports + port) * channels + channel`: input ports of its packets.
    inputs: Vec<u32>,
}

impl Contention {
    fn new(network: &Network, packets: &PacketList) -> Self {
        let (fabric, shape) = (network.fabric(), network.fabric().shape());
        let (ports, rule) = (shape.directions() + 1, network.router().channel_rule());
        let channels = rule.channels();
        let mut inputs = vec![0; shape.nodes() * ports * usize::from(channels)];
        for (source, packet) in packets.iter() {
            let (mut input, mut channel) = (ports - 1, 0);
            let mut visit = |node: NodeId, port: usize, channel: u8, input: usize| {
                inputs[(node as usize * ports + port) * usize::from(channels) + usize::from(channel)] |=
                    1 << input;
            };
            for hop in dimension_order_walk(fabric, rule, source, packet.destination) {
                visit(hop.node, hop.direction.index(), hop.channel, input);
                (channel, input) = (hop.channel, hop.direction.opposite().index());
            }
            visit(packet.destination, ports - 1, channel, input);
        }
        Self { inputs }
    }
}

/// One thing a search may choose.
#[derive(Clone, Debug)]
pub(super) enum Gene {
    Interval,
    Delay(NodeId),
    Scheme(NodeId, u8),
    /// The output channel, and the input ports that can meet there.
    PortList(OutputChannel, Vec<u8>),
}

/// All genes that can make a difference, and their values: numbers from 0.
#[derive(Clone, Debug)]
pub(super) struct GeneSpace {
    genes: Vec<Gene>,
    /// Number of values per gene.
    pub counts: Vec<u32>,
    first_interval: u64,
    pub default_list: Vec<u8>,
    base: Chromosome,
    ports: usize,
    channels: usize,
}

impl GeneSpace {
    /// The genes of a case. A scheme matters only where packets use several channels of a port, a
    /// port list only where packets of several input ports use a channel: all others are left out
    /// (the papers' entries "N/A").
    pub(super) fn new(case: &Case, limits: &Limits) -> Self {
        /// Ports whose order still has a number below 2^32.
        const ORDERED: usize = 12;
        let (ports, channels) = (case.ports(), case.channels());
        let mut genes = Vec::new();
        let mut counts = Vec::new();
        let mut add = |gene: Gene, count: u64| {
            if count > 1 {
                genes.push(gene);
                counts.push(count.min(u64::from(u32::MAX)) as u32);
            }
        };
        if case.groups.interval && case.has_interval() {
            add(Gene::Interval, limits.last_interval - limits.first_interval + 1);
        }
        let inputs = &case.contention.inputs;
        for node in 0..case.nodes() as NodeId {
            if case.groups.delays {
                add(Gene::Delay(node), limits.last_delay + 1);
            }
            for port in 0..ports {
                let first = (node as usize * ports + port) * channels;
                let of_port = &inputs[first..first + channels];
                let used = of_port.iter().filter(|&&inputs| inputs != 0).count();
                if case.groups.schemes && used > 1 {
                    add(Gene::Scheme(node, port as u8), ChannelScheme::PUBLISHED.len() as u64);
                }
                if !case.groups.port_lists {
                    continue;
                }
                for (channel, inputs) in of_port.iter().enumerate() {
                    let meeting: Vec<u8> =
                        (0..ports as u8).filter(|port| inputs >> port & 1 == 1).take(ORDERED).collect();
                    let orders = (1..=meeting.len() as u64).product();
                    let output = OutputChannel { node, port: port as u8, channel: channel as u8 };
                    add(Gene::PortList(output, meeting), orders);
                }
            }
        }
        let mut delays = case.collective.delays.clone();
        delays.resize(case.nodes(), 0);
        let base = Chromosome {
            interval: case.collective.interval,
            delays,
            arbitration: case.network.router().arbitration.clone(),
        };
        let default_list = case.network.router().north.port_list(case.network.fabric().shape());
        Self { genes, counts, first_interval: limits.first_interval, default_list, base, ports, channels }
    }

    pub(super) fn len(&self) -> usize {
        self.genes.len()
    }

    /// Whether the first gene is the interval.
    pub(super) fn has_interval(&self) -> bool {
        matches!(self.genes.first(), Some(Gene::Interval))
    }

    pub(super) fn gene(&self, gene: usize) -> &Gene {
        &self.genes[gene]
    }

    /// Gives a lane of an evaluator the value of a gene.
    pub(super) fn apply(&self, evaluator: &mut dyn Evaluator, lane: usize, gene: usize, value: u32) {
        match &self.genes[gene] {
            Gene::Interval => evaluator.set_interval(lane, self.interval(value)),
            Gene::Delay(node) => evaluator.set_delay(lane, *node, value.into()),
            Gene::Scheme(node, port) => {
                evaluator.set_scheme(lane, *node, *port, ChannelScheme::PUBLISHED[value as usize]);
            }
            Gene::PortList(output, meeting) => {
                let list = self.port_list(meeting, value);
                evaluator.set_port_list(lane, *output, &list);
            }
        }
    }

    /// The interval of a value of the interval gene.
    pub(super) fn interval(&self, value: u32) -> u64 {
        self.first_interval + u64::from(value)
    }

    /// The chromosome of the values of all genes.
    pub(super) fn chromosome(&self, values: &[u32]) -> Chromosome {
        let mut chromosome = self.base.clone();
        let Arbitration { schemes, port_lists } = &mut chromosome.arbitration;
        for (gene, &value) in self.genes.iter().zip(values) {
            match gene {
                Gene::Interval => chromosome.interval = self.interval(value),
                Gene::Delay(node) => chromosome.delays[*node as usize] = value.into(),
                Gene::Scheme(node, port) => {
                    if schemes.len() == 1 {
                        *schemes = schemes.repeat(self.base.delays.len() * self.ports);
                    }
                    let port = *node as usize * self.ports + usize::from(*port);
                    schemes[port] = ChannelScheme::PUBLISHED[value as usize];
                }
                Gene::PortList(output, meeting) => {
                    let channels = self.base.delays.len() * self.ports * self.channels;
                    if port_lists.is_empty() {
                        *port_lists = self.default_list.repeat(channels);
                    }
                    let port = output.node as usize * self.ports + usize::from(output.port);
                    let first = (port * self.channels + usize::from(output.channel)) * self.ports;
                    port_lists[first..first + self.ports].copy_from_slice(&self.port_list(meeting, value));
                }
            }
        }
        chromosome
    }

    /// The list that has the given ports first, in the order of number `value`; then the others.
    fn port_list(&self, meeting: &[u8], value: u32) -> Vec<u8> {
        let mut left = meeting.to_vec();
        let mut rest = value as usize;
        let mut list = Vec::with_capacity(self.ports);
        while !left.is_empty() {
            let place = rest % left.len();
            rest /= left.len();
            list.push(left.remove(place));
        }
        list.extend(self.default_list.iter().filter(|port| !meeting.contains(port)));
        list
    }
}

/// The number of the order in which the given ports come in `order`, as in [`GeneSpace::port_list`].
pub(super) fn list_number(meeting: &[u8], order: &[u8]) -> u32 {
    let mut left = meeting.to_vec();
    let (mut number, mut weight) = (0, 1);
    for port in order.iter().filter(|port| meeting.contains(port)) {
        let place = left.iter().position(|other| other == port).unwrap_or(0);
        number += weight * place as u32;
        weight *= left.len() as u32;
        left.remove(place);
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fabric::{Fabric, Shape},
        router::RouterConfig,
        traffic::Pattern,
    };

    #[test]
    fn numbers_of_orders_come_back() {
        let shape = Shape::torus(&[16, 16]).unwrap();
        let destinations = Pattern::BitReverse.destinations(&shape, 0).unwrap();
        let network = Network::new(Fabric::new(shape), RouterConfig::default()).unwrap();
        let collective = Collective { payload: 14, slices: 2, interval: 9, ..Collective::default() };
        let case = Case::new(&network, &destinations, collective, Groups::FULL).unwrap();
        let limits = Limits { height: 9, thickness: 9, first_interval: 1, last_interval: 2, last_delay: 1 };
        let space = GeneSpace::new(&case, &limits);
        let mut seen = 0;
        for (gene, &count) in space.genes.iter().zip(&space.counts) {
            let Gene::PortList(_, meeting) = gene else { continue };
            for value in 0..count {
                assert_eq!(list_number(meeting, &space.port_list(meeting, value)), value);
                seen += 1;
            }
        }
        assert!(seen > 100);
    }
}
