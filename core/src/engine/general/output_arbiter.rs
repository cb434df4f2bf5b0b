//! Switch allocation in words: which channel of an output port sends.

use crate::{
    bits::{Vector, bits, set_bits, spans},
    router::{ChannelScheme, MAX_CHANNELS, Start},
};
use std::ops::Range;

/// A vector per channel of a port.
pub(super) type PerChannel<V> = [V; MAX_CHANNELS as usize];

/// Of a network or a part of it: its nodes, the words of a plane, the ports of a router and the channels of a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub nodes: usize,
    pub words: usize,
    pub ports: usize,
    pub channels: usize,
}

/// The channel-selection schemes of all output ports.
#[derive(Clone, Debug)]
pub(super) enum Schemes {
    /// The same everywhere.
    Same(ChannelScheme),
    /// Possibly different ones.
    Own(OwnSchemes),
}

/// Planes per port that say where the evaluation begins: at the channel used last, after it, before
/// it, at one of both depending on whether a packet is under way, at a fixed channel; and whether it
/// descends.
#[derive(Clone, Debug)]
pub(super) struct OwnSchemes {
    planes: Vec<u64>,
    words: usize,
    channels: usize,
}

const FROM_LAST: usize = 0;
const AFTER_LAST: usize = 1;
const BEFORE_LAST: usize = 2;
const BY_PACKET: usize = 3;
const DESCENDING: usize = 4;
const FIXED: usize = 5;

impl OwnSchemes {
    fn plane(&self, port: usize, plane: usize) -> usize {
        (port * (FIXED + self.channels) + plane) * self.words
    }

    #[inline(always)]
    fn load<V: Vector>(&self, port: usize, plane: usize, word: usize) -> V {
        V::load(&self.planes[self.plane(port, plane) + word..])
    }
}

impl Schemes {
    /// A scheme per port, the same to begin with.
    pub(super) fn own(scheme: ChannelScheme, sizes: Sizes) -> Self {
        let Sizes { nodes, words, ports, channels } = sizes;
        let planes = vec![0; ports * (FIXED + channels) * words];
        let mut schemes = Self::Own(OwnSchemes { planes, words, channels });
        for (node, port) in (0..nodes).flat_map(|node| (0..ports).map(move |port| (node, port))) {
            schemes.set(node, port, scheme);
        }
        schemes
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Same(_) => 0,
            Self::Own(own) => size_of_val(&*own.planes),
        }
    }

    /// Those of a part of the network.
    pub(super) fn part(&self, nodes: Range<usize>, part: Sizes) -> Self {
        let Self::Own(whole) = self else { return self.clone() };
        let planes = part.ports * (FIXED + whole.channels);
        let mut own =
            OwnSchemes { planes: vec![0; planes * part.words], words: part.words, channels: whole.channels };
        for plane in 0..planes {
            for (first, count) in spans(nodes.len()) {
                let place = plane * whole.words * 64 + nodes.start + first;
                let value = bits(&whole.planes, place, count);
                set_bits(&mut own.planes, plane * part.words * 64 + first, count, value);
            }
        }
        Self::Own(own)
    }

    /// Sets the scheme of one port, where each has its own.
    pub(super) fn set(&mut self, node: usize, port: usize, scheme: ChannelScheme) {
        let Self::Own(own) = self else { return };
        let begins = match scheme.start() {
            Start::Last => FROM_LAST,
            Start::After => AFTER_LAST,
            Start::Before => BEFORE_LAST,
            Start::ByPacket => BY_PACKET,
            Start::At(channel) => FIXED + usize::from(channel) % own.channels,
        };
        for plane in 0..FIXED + own.channels {
            let set = if plane == DESCENDING { !scheme.ascending() } else { plane == begins };
            let word = own.plane(port, plane) + node / 64;
            own.planes[word] = own.planes[word] & !(1 << (node % 64)) | u64::from(set) << (node % 64);
        }
    }

    /// Chooses one of the candidates, if there are any, given the channel used last (one of `last`
    /// is set) and in which channels no packet is under way (`fresh`).
    #[inline(always)]
    pub(super) fn arbitrate<V: Vector>(
        &self,
        port: usize,
        word: usize,
        channels: usize,
        candidates: &PerChannel<V>,
        last: &PerChannel<V>,
        fresh: &[V],
    ) -> PerChannel<V> {
        let mut start = [V::zero(); MAX_CHANNELS as usize];
        match self {
            Self::Same(scheme) => {
                let begins = scheme.start();
                let at = |last: usize| usize::from(begins.channel(last as u8, false, channels as u8));
                if begins == Start::ByPacket {
                    for channel in 0..channels {
                        let next = at(channel);
                        start[channel] = start[channel] | last[channel] & !fresh[channel];
                        start[next] = start[next] | last[channel] & fresh[channel];
                    }
                } else if begins.remembers() {
                    for channel in 0..channels {
                        start[at(channel)] = last[channel];
                    }
                } else {
                    start[at(0)] = V::ones();
                }
                choose_from(channels, candidates, &start, scheme.ascending())
            }
            Self::Own(own) => {
                let load = |plane| own.load::<V>(port, plane, word);
                let (from, after, before) = (load(FROM_LAST), load(AFTER_LAST), load(BEFORE_LAST));
                let by_packet = load(BY_PACKET);
                for channel in 0..channels {
                    let next = if channel + 1 == channels { 0 } else { channel + 1 };
                    let from = from | by_packet & !fresh[channel];
                    let after = after | by_packet & fresh[channel];
                    start[channel] = start[channel] | load(FIXED + channel) | from & last[channel];
                    start[next] = start[next] | after & last[channel];
                    start[channel] = start[channel] | before & last[next];
                }
                let up = choose_from(channels, candidates, &start, true);
                let down = choose_from(channels, candidates, &start, false);
                let mut chosen = up;
                let descending = load(DESCENDING);
                for channel in 0..channels {
                    chosen[channel] = descending.select(down[channel], up[channel]);
                }
                chosen
            }
        }
    }
}

/// The first candidate at or after the start, going round. A turn passes through the channels until
/// it meets a candidate, so two rounds find it.
#[inline(always)]
fn choose_from<V: Vector>(
    channels: usize,
    candidates: &PerChannel<V>,
    start: &PerChannel<V>,
    ascending: bool,
) -> PerChannel<V> {
    let mut chosen = [V::zero(); MAX_CHANNELS as usize];
    let mut turn = V::zero();
    for step in 0..channels {
        let channel = if ascending { step } else { channels - 1 - step };
        turn = turn | start[channel];
        chosen[channel] = turn & candidates[channel];
        turn = turn & !candidates[channel];
    }
    for step in 0..channels {
        let channel = if ascending { step } else { channels - 1 - step };
        chosen[channel] = chosen[channel] | turn & candidates[channel];
        turn = turn & !candidates[channel];
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::general::layout::Layout;
    use crate::{
        bits::Words,
        engine::Network,
        fabric::{Fabric, Shape},
        router::RouterConfig,
    };

    /// Every scheme, channel used last, packet under way in it or not, and set of candidates, each at a
    /// node of its own.
    #[test]
    fn the_choice_is_that_of_the_schemes() {
        let shape = Shape::torus(&[64, 8]).unwrap();
        for channels in 1..=5_u8 {
            let router = RouterConfig { channels, ..RouterConfig::default() };
            let network = Network::new(Fabric::new(shape.clone()), router).unwrap();
            let mut layout = Layout::new(&network);
            for scheme in ChannelScheme::ALL {
                let cases = usize::from(channels) << (channels + 1);
                let (mut candidates, mut last) = ([[0_u64; 8]; 8], [[0_u64; 8]; 8]);
                let mut fresh = [[0_u64; 8]; 8];
                let apart = |case: usize| {
                    let (used, set) = (case >> (channels + 1), case & ((1 << channels) - 1));
                    (used, case >> channels & 1 == 1, set)
                };
                for case in 0..cases {
                    let (used, under_way, set) = apart(case);
                    last[used][case / 64] |= 1 << (case % 64);
                    // In the other channels it does not matter.
                    for (channel, words) in fresh.iter_mut().enumerate() {
                        let fresh = if channel == used { !under_way } else { set >> channel & 1 == 1 };
                        words[case / 64] |= u64::from(fresh) << (case % 64);
                    }
                    for (channel, words) in candidates.iter_mut().enumerate() {
                        words[case / 64] |= (set as u64 >> channel & 1) << (case % 64);
                    }
                    // Only this node has this scheme.
                    layout.set_scheme(case, 1, scheme);
                }
                for schemes in [&Schemes::Same(scheme), &layout.schemes] {
                    let vectors = |words: &[[u64; 8]; 8]| words.map(|words| Words::<8>::load(&words));
                    let chosen = schemes.arbitrate(
                        1,
                        0,
                        channels.into(),
                        &vectors(&candidates),
                        &vectors(&last),
                        &vectors(&fresh),
                    );
                    for case in 0..cases {
                        let (used, under_way, set) = apart(case);
                        let mut order = scheme.order(used as u8, under_way, channels);
                        let expected = order.find(|&channel| set >> channel & 1 == 1);
                        let got = (0..channels).filter(|&channel| {
                            let mut words = [0; 8];
                            chosen[usize::from(channel)].store(&mut words);
                            words[case / 64] >> (case % 64) & 1 == 1
                        });
                        assert_eq!(got.collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
                    }
                }
            }
        }
    }
}
