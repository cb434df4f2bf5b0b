//! The state of the general engine as fields.

use super::{
    channels::Channels,
    layout::{Layout, NONE},
    state::{PacketState, State},
};
use crate::save::{Archive, SaveError};
use std::cmp::Reverse;

impl State {
    /// Everything that changes while a network runs, as fields.
    pub fn fields(&mut self, layout: &Layout, archive: &mut Archive) -> Result<(), SaveError> {
        let Self {
            channels,
            rows,
            packets,
            free_slots,
            feeds,
            feeding,
            wakes,
            sources,
            routes,
            wheel,
            on_links,
            inside,
            moves: _,
            receivers: _,
            interlock,
        } = self;
        channels.fields(archive)?;
        archive.slice("channels used last", rows)?;
        packet_fields(packets, archive)?;
        archive.list("free slots", free_slots)?;
        archive.fixed("packets fed", feeds, |feed| &mut feed.slot)?;
        archive.fixed("flits to feed", feeds, |feed| &mut feed.left)?;
        archive.slice("nodes to top up", feeding)?;
        let mut waiting: Vec<(u64, u32)> = wakes.drain().map(|Reverse(wake)| wake).collect();
        archive.column("wakes", &mut waiting, &(0, 0), |wake| &mut wake.0)?;
        archive.column("nodes to wake", &mut waiting, &(0, 0), |wake| &mut wake.1)?;
        wakes.extend(waiting.into_iter().map(Reverse));
        sources.fields(routes, archive)?;
        for flits in wheel {
            archive.column("queues ahead", flits, &(0, 0), |flit| &mut flit.0)?;
            archive.column("flits on links", flits, &(0, 0), |flit| &mut flit.1)?;
        }
        archive.number("flits on links", on_links)?;
        archive.number("flits inside", inside)?;
        interlock.fields(archive)?;
        if archive.is_reading() { self.check_restored(layout) } else { Ok(()) }
    }

    /// Nothing restored may lead outside the network.
    fn check_restored(&self, layout: &Layout) -> Result<(), SaveError> {
        let below = |field, limit: usize, values: &mut dyn Iterator<Item = u32>| {
            for value in values {
                if value != NONE && value as usize >= limit {
                    return Err(SaveError::Value { field, value: value.into() });
                }
            }
            Ok(())
        };
        let Channels { queues, rings, outputs, requested, .. } = &self.channels;
        let (packets, nodes) = (self.packets.len(), layout.nodes);
        below("targets", outputs.len(), &mut queues.iter().map(|queue| queue.target))?;
        below("owners", queues.len(), &mut outputs.iter().map(|output| output.owner))?;
        below("requests", outputs.len(), &mut requested.iter().copied())?;
        below("flits", packets.max(1), &mut rings.iter().map(|flit| flit >> super::channels::SLOT_SHIFT))?;
        below("free slots", packets, &mut self.free_slots.iter().copied())?;
        below("packets fed", packets, &mut self.feeds.iter().map(|feed| feed.slot))?;
        below("nodes to wake", nodes, &mut self.wakes.iter().map(|&Reverse((_, node))| node))?;
        let flits = || self.wheel.iter().flatten();
        below("queues ahead", queues.len(), &mut flits().map(|flit| flit.0))?;
        below("flits on links", packets, &mut flits().map(|flit| flit.1 >> super::channels::SLOT_SHIFT))?;
        below("destinations", nodes, &mut self.packets.iter().map(|packet| packet.destination))?;
        let steps = self.routes.as_ref().map_or(0, |routes| routes.steps().len());
        // The header of a packet that is being ejected has taken the end of its route.
        below("routes", steps + 1, &mut self.packets.iter().map(|packet| packet.route))?;
        let channels = layout.channels;
        below(
            "first channels",
            channels,
            &mut self.packets.iter().map(|packet| packet.first_channel.into()),
        )?;
        below("rotations", layout.ports, &mut outputs.iter().map(|output| output.rotation.into()))?;
        below("queue heads", 1 << layout.ring_shift, &mut queues.iter().map(|queue| queue.head.into()))?;
        let rows = layout.choices.len() >> layout.channels;
        below("channels used last", rows, &mut self.rows.iter().map(|&row| row.into()))
    }
}

impl Channels {
    fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let Self { queues, rings, outputs, masks, requested, longest: _ } = self;
        archive.fixed("targets", queues, |queue| &mut queue.target)?;
        archive.fixed("queue counts", queues, |queue| &mut queue.counts)?;
        archive.fixed("queue heads", queues, |queue| &mut queue.head)?;
        let mut granted: Vec<u8> = queues.iter().map(|queue| queue.granted.into()).collect();
        archive.slice("queues granted", &mut granted)?;
        queues.iter_mut().zip(granted).for_each(|(queue, granted)| queue.granted = granted == 1);
        archive.slice("flits", rings)?;
        archive.fixed("owners", outputs, |output| &mut output.owner)?;
        archive.fixed("requests", outputs, |output| &mut output.requests)?;
        archive.fixed("rotations", outputs, |output| &mut output.rotation)?;
        archive.fixed("channels ready", masks, |masks| &mut masks.ready)?;
        archive.fixed("channels with space", masks, |masks| &mut masks.space)?;
        archive.list("channels requested", requested)
    }
}

fn packet_fields(packets: &mut Vec<PacketState>, archive: &mut Archive) -> Result<(), SaveError> {
    let empty = PacketState {
        destination: 0,
        source: 0,
        length: 0,
        slice: 0,
        number: 0,
        start: 0,
        route: NONE,
        first_channel: 0,
    };
    archive.column("destinations", packets, &empty, |packet| &mut packet.destination)?;
    archive.column("sources", packets, &empty, |packet| &mut packet.source)?;
    archive.column("lengths", packets, &empty, |packet| &mut packet.length)?;
    archive.column("slices", packets, &empty, |packet| &mut packet.slice)?;
    archive.column("numbers", packets, &empty, |packet| &mut packet.number)?;
    archive.column("starts", packets, &empty, |packet| &mut packet.start)?;
    archive.column("routes", packets, &empty, |packet| &mut packet.route)?;
    archive.column("first channels", packets, &empty, |packet| &mut packet.first_channel)
}
