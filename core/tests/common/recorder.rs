//! Everything an engine tells its probes.

use crate::reference::{Event, What};
use flitloom_core::{
    fabric::{LinkId, NodeId},
    probe::{Events, Flit, OutputChannel, Probe},
    traffic::Packet,
};
use std::collections::HashMap;

/// A probe that keeps every event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorder {
    pub crossings: Vec<(u64, LinkId, u8, Flit)>,
    pub ejections: Vec<(u64, NodeId, Flit)>,
    pub blocked: Vec<(u64, LinkId)>,
    pub injections: Vec<(u64, Flit)>,
    pub lost_queues: Vec<(u64, OutputChannel, Flit, Flit)>,
    pub lost_channels: Vec<(u64, OutputChannel, Flit, Flit)>,
}

impl Probe for Recorder {
    fn wants(&self) -> Events {
        Events::ALL
    }

    fn flit_crosses(&mut self, cycle: u64, link: LinkId, channel: u8, flit: Flit) {
        self.crossings.push((cycle, link, channel, flit));
    }

    fn packet_injected(&mut self, cycle: u64, flit: Flit) {
        self.injections.push((cycle, flit));
    }

    fn link_blocked(&mut self, cycle: u64, link: LinkId) {
        self.blocked.push((cycle, link));
    }

    fn queue_blocked(&mut self, cycle: u64, output: OutputChannel, granted: Flit, blocked: Flit) {
        self.lost_queues.push((cycle, output, granted, blocked));
    }

    fn channel_blocked(&mut self, cycle: u64, output: OutputChannel, granted: Flit, blocked: Flit) {
        self.lost_channels.push((cycle, output, granted, blocked));
    }

    fn flit_ejected(&mut self, cycle: u64, node: NodeId, flit: Flit) {
        self.ejections.push((cycle, node, flit));
    }
}

impl Recorder {
    /// The events in the reference model's form, sorted. Flits are numbered within their packet as
    /// they pass a place: head first, tail last.
    ///
    /// # Errors
    /// What a flit says of itself does not fit the packet it belongs to.
    pub fn events(&self, packets: &[Vec<Packet>]) -> Result<Vec<Event>, String> {
        let mut events = Vec::new();
        // A given route may pass a place twice, one packet after the other.
        let mut passed = HashMap::new();
        let mut index = |place: Option<(LinkId, u8)>, flit: Flit| {
            let count = passed.entry((place, packet(flit))).or_insert(0);
            let index = *count;
            *count = if flit.tail { 0 } else { index + 1 };
            check(packets, flit, index).map(|()| index)
        };
        for &(cycle, link, channel, flit) in &self.crossings {
            let Flit { source, number, .. } = flit;
            let index = index(Some((link, channel)), flit)?;
            events.push(Event { cycle, what: What::Crosses { link, channel, source, number, index } });
        }
        for &(cycle, node, flit) in &self.ejections {
            let Flit { source, number, .. } = flit;
            let index = index(None, flit)?;
            events.push(Event { cycle, what: What::Ejected { node, source, number, index } });
        }
        for &(cycle, link) in &self.blocked {
            events.push(Event { cycle, what: What::Blocked { link } });
        }
        for &(cycle, output, granted, blocked) in &self.lost_queues {
            let [granted, blocked] = [granted, blocked].map(packet);
            events.push(Event { cycle, what: What::LostQueue { output: place(output), granted, blocked } });
        }
        for &(cycle, output, granted, blocked) in &self.lost_channels {
            let [granted, blocked] = [granted, blocked].map(packet);
            events.push(Event { cycle, what: What::LostChannel { output: place(output), granted, blocked } });
        }
        events.sort();
        Ok(events)
    }
}

fn packet(flit: Flit) -> (NodeId, u64) {
    (flit.source, flit.number)
}

fn place(output: OutputChannel) -> (NodeId, usize, usize) {
    (output.node, output.port.into(), output.channel.into())
}

fn check(packets: &[Vec<Packet>], flit: Flit, index: u32) -> Result<(), String> {
    let packet = packets[flit.source as usize].get(flit.number as usize);
    let fits = packet.is_some_and(|packet| {
        packet.start == flit.start
            && packet.slice == flit.slice
            && flit.head == (index == 0)
            && flit.tail == (index + 1 == packet.length)
    });
    if fits { Ok(()) } else { Err(format!("{flit:?}, flit {index} of {packet:?}")) }
}
