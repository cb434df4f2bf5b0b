use crate::{fabric::Shape, fault::Fault, names::UnknownName};
use std::{fmt, str::FromStr};

/// How an output port chooses among its virtual channels: as in cup-stacking-extended-2023, Table 1, or
/// packet by packet.
///
/// ```
/// use flitloom_core::router::ChannelScheme;
/// let scheme: ChannelScheme = "C03".parse()?;
/// assert_eq!(scheme.order(1, false, 3).collect::<Vec<_>>(), [0, 2, 1]);
/// let scheme = ChannelScheme::Packet;
/// assert_eq!(scheme.order(1, false, 3).collect::<Vec<_>>(), [2, 0, 1]);
/// assert_eq!(scheme.order(1, true, 3).collect::<Vec<_>>(), [1, 2, 0]);
/// # Ok::<(), flitloom_core::router::ArbitrationError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum ChannelScheme {
    /// Round robin from the channel used last, ascending.
    #[default]
    C00,
    /// Round robin from the channel after the one used last, ascending.
    C01,
    /// Round robin from the channel used last, descending.
    C02,
    /// Round robin from the channel before the one used last, descending.
    C03,
    /// Fixed priority from channel 0, ascending.
    C04,
    /// Fixed priority from channel 1, ascending.
    C05,
    /// Fixed priority from channel 2, ascending.
    C06,
    /// Fixed priority from channel 0, descending.
    C07,
    /// Fixed priority from channel 1, descending.
    C08,
    /// Fixed priority from channel 2, descending.
    C09,
    /// `packet`: round robin packet by packet: from the channel used last while the packet in it is
    /// under way, else from the channel after it, ascending. Only a gap in a packet lets another one in.
    Packet,
}

impl ChannelScheme {
    /// All schemes.
    pub const ALL: [Self; 11] = [
        Self::C00,
        Self::C01,
        Self::C02,
        Self::C03,
        Self::C04,
        Self::C05,
        Self::C06,
        Self::C07,
        Self::C08,
        Self::C09,
        Self::Packet,
    ];

    /// Those of cup-stacking-extended-2023, Table 1, in the order of their numbers.
    pub const PUBLISHED: [Self; 10] = [
        Self::C00,
        Self::C01,
        Self::C02,
        Self::C03,
        Self::C04,
        Self::C05,
        Self::C06,
        Self::C07,
        Self::C08,
        Self::C09,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::C00 => "C00",
            Self::C01 => "C01",
            Self::C02 => "C02",
            Self::C03 => "C03",
            Self::C04 => "C04",
            Self::C05 => "C05",
            Self::C06 => "C06",
            Self::C07 => "C07",
            Self::C08 => "C08",
            Self::C09 => "C09",
            Self::Packet => "packet",
        }
    }

    /// The channel evaluated first, given the one used last and whether a packet is under way in it: its
    /// header has been sent, its tail has not.
    pub fn start(self, last: u8, under_way: bool, channels: u8) -> u8 {
        match self {
            Self::Packet if under_way => last,
            Self::C00 | Self::C02 => last,
            Self::C01 | Self::Packet => (last + 1) % channels,
            Self::C03 => (last + channels - 1) % channels,
            Self::C04 | Self::C07 => 0,
            Self::C05 | Self::C08 => 1 % channels,
            Self::C06 | Self::C09 => 2 % channels,
        }
    }

    /// Whether channels are evaluated in ascending order.
    pub fn ascending(self) -> bool {
        matches!(self, Self::C00 | Self::C01 | Self::C04 | Self::C05 | Self::C06 | Self::Packet)
    }

    /// Whether the order depends on the channel used last.
    pub fn round_robin(self) -> bool {
        matches!(self, Self::C00 | Self::C01 | Self::C02 | Self::C03 | Self::Packet)
    }

    /// The channels in evaluation order, given the one used last and whether a packet is under way in it.
    pub fn order(self, last: u8, under_way: bool, channels: u8) -> impl Iterator<Item = u8> {
        let start = self.start(last, under_way, channels);
        let ascending = self.ascending();
        (0..channels).map(move |step| {
            let step = if ascending { step } else { channels - step };
            (start + step) % channels
        })
    }
}

impl fmt::Display for ChannelScheme {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for ChannelScheme {
    type Err = ArbitrationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|scheme| scheme.name() == text)
            .ok_or_else(|| ArbitrationError::UnknownScheme(text.to_owned()))
    }
}

/// Which direction of the last dimension is north, with which every list of input ports begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum North {
    /// The plus direction.
    #[default]
    Plus,
    /// The minus direction, as on a screen whose rows are numbered downwards.
    Minus,
}

impl North {
    /// Both by their names in two dimensions.
    pub const NAMES: [(&'static str, Self); 2] = [("+y", Self::Plus), ("-y", Self::Minus)];

    /// The input ports in the order VC allocation evaluates them at first, as port numbers: `+last, ...,
    /// +x, -last, ..., -x, P` (N, E, S, W, P in two dimensions), with the directions of the last dimension
    /// exchanged if north is the minus direction.
    ///
    /// ```
    /// use flitloom_core::{fabric::Shape, router::North};
    /// let shape = Shape::torus(&[4, 4])?;
    /// // +y, +x, -y, -x, P and -y, +x, +y, -x, P.
    /// assert_eq!(North::Plus.port_list(&shape), [2, 0, 3, 1, 4]);
    /// assert_eq!(North::Minus.port_list(&shape), [3, 0, 2, 1, 4]);
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    pub fn port_list(self, shape: &Shape) -> Vec<u8> {
        let last = shape.dimensions() - 1;
        let links = shape.port_order().into_iter().map(|direction| match self {
            Self::Minus if shape.dimension_of(direction) == last => direction.opposite().index() as u8,
            _ => direction.index() as u8,
        });
        links.chain([shape.directions() as u8]).collect()
    }
}

/// The arbitration settings of all routers: a channel scheme per output port and a list of input
/// ports per output channel, or one of each for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arbitration {
    /// One scheme for all output ports, or one per `node * ports + port`.
    pub schemes: Vec<ChannelScheme>,
    /// Empty for the initial list everywhere ([`North::port_list`]), or `ports` entries per
    /// `(node * ports + port) * channels + channel`: a permutation of the input ports.
    pub port_lists: Vec<u8>,
}

impl Default for Arbitration {
    fn default() -> Self {
        Self::uniform(ChannelScheme::C00)
    }
}

impl Arbitration {
    /// One scheme for all ports, the default port list everywhere.
    pub fn uniform(scheme: ChannelScheme) -> Self {
        Self { schemes: vec![scheme], port_lists: Vec::new() }
    }

    /// The scheme of an output port.
    pub fn scheme(&self, node: usize, port: usize, ports: usize) -> ChannelScheme {
        if self.schemes.len() == 1 { self.schemes[0] } else { self.schemes[node * ports + port] }
    }

    /// Checks the lengths and that every list is a permutation of the ports.
    ///
    /// # Errors
    /// A vector has the wrong length, or a list is not a permutation.
    pub fn check(&self, shape: &Shape, channels: u8) -> Result<(), ArbitrationError> {
        let ports = shape.directions() + 1;
        let outputs = shape.nodes() * ports;
        if self.schemes.len() != 1 && self.schemes.len() != outputs {
            return Err(ArbitrationError::Schemes { given: self.schemes.len(), needed: outputs });
        }
        let needed = outputs * channels as usize * ports;
        if !self.port_lists.is_empty() && self.port_lists.len() != needed {
            return Err(ArbitrationError::PortLists { given: self.port_lists.len(), needed });
        }
        for (index, list) in self.port_lists.chunks(ports).enumerate() {
            let seen =
                list.iter().fold(0_u32, |seen, &port| seen | 1_u32.checked_shl(port.into()).unwrap_or(0));
            if seen != (1 << ports) - 1 {
                return Err(ArbitrationError::NotAPermutation { index, ports });
            }
        }
        Ok(())
    }
}

/// What can be wrong with arbitration settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArbitrationError {
    /// No such scheme.
    UnknownScheme(String),
    /// Wrong number of schemes.
    Schemes {
        /// How many were given.
        given: usize,
        /// How many are needed.
        needed: usize,
    },
    /// Wrong number of list entries.
    PortLists {
        /// How many were given.
        given: usize,
        /// How many are needed.
        needed: usize,
    },
    /// A list misses a port or names one twice.
    NotAPermutation {
        /// Index of the list.
        index: usize,
        /// Number of ports.
        ports: usize,
    },
}

crate::fault::displays_fault!(ArbitrationError);

impl ArbitrationError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        match self {
            Self::UnknownScheme(given) => {
                let names = ChannelScheme::ALL.map(ChannelScheme::name);
                UnknownName::of("channel-selection scheme", "the schemes are", given, &names).fault()
            }
            Self::Schemes { given, needed } => Fault::somewhere(
                format!("{given} channel-selection schemes given"),
                format!("give one, or {needed} (nodes x ports)"),
            ),
            Self::PortLists { given, needed } => Fault::somewhere(
                format!("{given} port-list entries given"),
                format!("{needed} are needed (nodes x ports x channels x ports)"),
            ),
            Self::NotAPermutation { index, ports } => {
                Fault::somewhere(format!("port list {index} is not a permutation of the {ports} ports"), "")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_evaluates_every_channel_once() {
        for scheme in ChannelScheme::ALL {
            assert_eq!(scheme.to_string().parse(), Ok(scheme));
            for channels in 1..=8 {
                for (last, under_way) in (0..channels).flat_map(|last| [(last, false), (last, true)]) {
                    let mut order: Vec<u8> = scheme.order(last, under_way, channels).collect();
                    order.sort_unstable();
                    assert_eq!(order, (0..channels).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn the_orders_are_those_of_the_papers_table() {
        let order = |text: &str| text.parse::<ChannelScheme>().unwrap().order(1, true, 3).collect::<Vec<_>>();
        assert_eq!(order("C00"), [1, 2, 0]);
        assert_eq!(order("C01"), [2, 0, 1]);
        assert_eq!(order("C02"), [1, 0, 2]);
        assert_eq!(order("C03"), [0, 2, 1]);
        assert_eq!(order("C04"), [0, 1, 2]);
        assert_eq!(order("C06"), [2, 0, 1]);
        assert_eq!(order("C07"), [0, 2, 1]);
        assert_eq!(order("C09"), [2, 1, 0]);
    }

    #[test]
    fn lists_begin_in_the_north() {
        let shape = Shape::torus(&[4, 4, 4]).unwrap();
        assert_eq!(North::Plus.port_list(&shape), [4, 2, 0, 5, 3, 1, 6]);
        assert_eq!(North::Minus.port_list(&shape), [5, 2, 0, 4, 3, 1, 6]);
    }
}
