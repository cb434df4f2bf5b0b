use super::ChannelScheme;
use crate::{fabric::Shape, fault::Fault, names::UnknownName};
use std::str::FromStr;

impl FromStr for ChannelScheme {
    type Err = ArbitrationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|scheme| scheme.name() == text)
            .ok_or_else(|| ArbitrationError::UnknownScheme(text.to_owned()))
    }
}

named! {
    /// Which direction of the last dimension is north, with which every list of input ports begins.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub enum North {
        /// The plus direction.
        #[default]
        Plus = "+y",
        /// The minus direction, as on a screen whose rows are numbered downwards.
        Minus = "-y",
    }
}

impl North {
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
    fn lists_begin_in_the_north() {
        let shape = Shape::torus(&[4, 4, 4]).unwrap();
        assert_eq!(North::Plus.port_list(&shape), [4, 2, 0, 5, 3, 1, 6]);
        assert_eq!(North::Minus.port_list(&shape), [5, 2, 0, 4, 3, 1, 6]);
    }
}
