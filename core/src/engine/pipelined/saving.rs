//! How a run of a workload is saved and restored.

use super::{feed::Feed, run::Run, sets::Sets, terminals::Terminals, waiting::Waiting};
use crate::{
    save::{Archive, SaveError},
    visit::{Visited, below},
};

/// Cycles after which the cycles without an arrival are counted from 0 again.
const TURN: u32 = 257;

impl Run<Feed> {
    /// All that outlives a cycle.
    pub(super) fn fields(&mut self, archive: &mut Archive) -> Visited {
        archive.number("cycle", &mut self.terminals.now)?;
        self.source.numbers.fields(archive)?;
        // Routers of some forms are sets meanwhile.
        let mut sets = self.on_routers(|routers, cycle| routers.as_sets(cycle));
        let Self { source, terminals, subnets, .. } = self;
        let Terminals {
            rules,
            nodes,
            classes,
            now: _,
            packets,
            waiting,
            at_work,
            replies,
            sequence,
            last_class,
            last_channel,
            facts,
            created_in_flight,
            standstill,
            // What does not change in a run of a workload, and what ends it.
            counting: _,
            breach: _,
        } = terminals;
        packets.fields(*nodes, *classes, archive)?;
        for (subnet, sets) in subnets.iter_mut().zip(&mut sets) {
            subnet.visit(sets.as_mut(), rules, packets, archive)?;
        }
        archive.slice("packets at sources", waiting)?;
        archive.slice("sources at work", at_work)?;
        archive.lists("replies", &mut *replies)?;
        archive.slice("packets made", sequence)?;
        archive.slice("classes used last", last_class)?;
        archive.slice("channels of sources used last", last_channel)?;
        facts.iter_mut().try_for_each(|facts| facts.fields(archive))?;
        archive.slice("cycles of flits in flight", created_in_flight)?;
        // It is written twice, once in turns.
        let mut turn = *standstill % TURN;
        archive.number("cycles without an arrival", &mut turn)?;
        archive.number("cycles of standstill", standstill)?;
        source.fields(archive)?;
        if archive.is_reading() {
            if turn != *standstill % TURN {
                return Err(SaveError::Value { field: "cycles without an arrival", value: turn.into() });
            }
            self.check_restored(sets.first().and_then(Option::as_ref))?;
        }
        let mut sets = sets.into_iter();
        let waiting = self.terminals.waiting.clone();
        self.on_routers(|routers, cycle| {
            if let Some(sets) = sets.next().flatten() {
                routers.take_sets(&sets, &waiting, cycle);
            }
        });
        Ok(())
    }

    /// Nothing restored may lead outside the network.
    fn check_restored(&self, sets: Option<&Sets>) -> Visited {
        let Self { source, terminals, .. } = self;
        let Terminals { rules, nodes, packets, waiting, at_work, replies, last_class, last_channel, .. } =
            terminals;
        packets.check("flits not taken yet", rules.channels, source.exits.iter().flatten())?;
        let sending = || waiting.iter().filter(|waiting| waiting.size > 0);
        let chosen = waiting.iter().flat_map(|waiting| waiting.chosen);
        let channels = chosen.chain(sending().map(|waiting| waiting.channel));
        below("packets at sources", rules.channels, channels.map(u32::from))?;
        below("packets at sources", packets.places(), sending().map(|waiting| waiting.packet))?;
        below("packets at sources", 1, sending().map(|waiting| waiting.subnet.into()))?;
        below("replies", *nodes, replies.iter().flatten().map(|reply| reply.to))?;
        if let Some(&class) = last_class.iter().find(|&&class| class >= rules.classes) {
            return Err(SaveError::Value { field: "classes used last", value: class as u64 });
        }
        below("channels used last", rules.channels, last_channel.iter().flatten().copied())?;
        source.check_restored(packets)?;
        self.check_flits(sets)?;
        let is_right = |waiting: &&Waiting| {
            let size = packets[waiting.packet].size;
            waiting.next < waiting.size && waiting.size == size
        };
        let at_rest = at_work.iter().enumerate().all(|(word, &bits)| {
            bits.checked_shr((nodes - 64 * word) as u32).is_none_or(|beyond| beyond == 0)
        });
        if at_rest && sending().all(|waiting| is_right(&waiting)) {
            Ok(())
        } else {
            Err(SaveError::Value { field: "packets at sources", value: waiting.len() as u64 })
        }
    }

    /// A packet has no more flits than it has, wherever they are, and those in flight are counted.
    fn check_flits(&self, sets: Option<&Sets>) -> Visited {
        let Terminals { packets, waiting, facts, .. } = &self.terminals;
        let wrong = |field: &'static str, value: u64| Err(SaveError::Value { field, value });
        let mut in_flight = vec![0; facts.len()];
        for packet in packets.iter() {
            in_flight[usize::from(packet.class)] += u64::from(packet.size.saturating_sub(packet.delivered));
        }
        if let Some(class) = (0..facts.len()).find(|&class| in_flight[class] != facts[class].in_flight) {
            return wrong("flits in flight", facts[class].in_flight);
        }
        let routers = sets.map_or(&*self.subnets[0].routers, |sets| sets);
        let Some(mut flits) = routers.under_way(packets.places()) else { return Ok(()) };
        for waiting in waiting.iter().filter(|waiting| waiting.size > 0) {
            flits[waiting.packet as usize] += waiting.size - waiting.next.min(waiting.size);
        }
        for (place, &flits) in flits.iter().enumerate() {
            let packet = &packets[place as u32];
            if flits > packet.size.saturating_sub(packet.delivered) {
                return wrong("flits of packets", flits.into());
            }
        }
        Ok(())
    }
}
