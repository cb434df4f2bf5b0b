//! A run under way, as the one loop over cycles knows it.

use super::{
    deadlock,
    layout::Layout,
    observe::{Loss, Move},
    step::Step,
};
use crate::{
    engine::{
        Network, Options, Outcome, SimulationError,
        protocol::{Clock, Cycles, Engine, Motion, Quiescence, advance},
    },
    fabric::{Direction, LinkId},
    probe::{Events, LinkOccupation, Probe, Windows},
    save::{Archive, SaveError},
};
use std::sync::Arc;

/// Cycles after which a throttle is taken to hold for ever what it holds in an empty network.
const HELD: u64 = 1 << 20;

/// A simulation under way.
pub(super) struct Run {
    pub network: Network,
    pub layout: Arc<Layout>,
    pub step: Box<dyn Step>,
    /// Whether the routing function does not claim to be free of deadlock.
    pub may_deadlock: bool,
    /// Whether its throttle may hold packets for ever, since nobody knows what it says.
    pub may_hold: bool,
}

impl Motion for Run {
    #[inline(always)]
    fn decide(&mut self, cycle: u64, probe: Option<&mut dyn Probe>) -> bool {
        let changes = self.step.decide(&self.layout, cycle);
        if let Some(probe) = probe {
            self.report(cycle, probe);
        }
        changes
    }

    #[inline(always)]
    fn arrive(&mut self, cycle: u64) {
        self.step.arrive(&self.layout, cycle);
    }

    #[inline(always)]
    fn account(&mut self, cycle: u64) {
        self.step.account(&self.layout, cycle);
    }

    fn rest(&self, cycle: u64) -> Quiescence {
        match self.step.next_wake(cycle) {
            Some(_) if !self.step.at_rest() => Quiescence::Until(cycle + 1),
            // Nothing can change before the next packet starts.
            Some(start) => Quiescence::Until(start.max(cycle + 1)),
            None if self.step.is_busy() => Quiescence::Stuck,
            None => Quiescence::Finished,
        }
    }
}

impl Cycles for Run {
    fn advance(
        &mut self,
        cycle: &mut u64,
        until: u64,
        probe: &mut dyn Probe,
    ) -> Result<Option<Quiescence>, SimulationError> {
        let listens = probe.wants() != Events::NONE;
        Ok(advance(self, cycle, until, if listens { Some(probe) } else { None }))
    }

    fn routers(&self) -> usize {
        self.layout.nodes
    }

    fn delivered(&self) -> u64 {
        self.step.outcome().packets_delivered
    }

    fn check(&self, cycle: u64) -> Result<(), SimulationError> {
        if self.may_deadlock {
            deadlock::check(&self.network, &self.layout, &self.step.snapshot(&self.layout), cycle)?;
        }
        if self.may_hold
            && let Some((node, since)) = self.step.held(&self.layout)
            && cycle.saturating_sub(since) > HELD
        {
            return Err(SimulationError::Held { cycle, node, since });
        }
        Ok(())
    }

    fn finished(&self, cycle: u64) -> Result<(), SimulationError> {
        // With nothing under way, nobody may still wait for a packet to arrive.
        match self.step.unsent(&self.layout) {
            None => Ok(()),
            Some((node, count)) => Err(SimulationError::Interlocked { cycle, node, count }),
        }
    }

    fn stuck(&self, cycle: u64, _options: &Options) -> SimulationError {
        deadlock::report(&self.network, &self.layout, &self.step.snapshot(&self.layout), cycle)
    }
}

impl Engine for Run {
    fn totals(&mut self, clock: &Clock) -> Result<Outcome, SimulationError> {
        let mut outcome = self.step.outcome().clone();
        outcome.cycles = clock.cycle;
        if clock.finished {
            outcome.cycles = outcome.duration.saturating_sub(1);
            outcome.makespan = self.step.makespan()?;
        }
        Ok(outcome)
    }

    fn links(&self) -> Option<LinkOccupation> {
        self.step.links()
    }

    fn windows(&mut self, cycle: u64) -> Option<&mut Windows> {
        self.step.windows(&self.layout, cycle)
    }

    fn occupancy(&self) -> Vec<u16> {
        let layout = &self.layout;
        let mut flits = Vec::with_capacity(layout.nodes * layout.link_queues);
        for node in 0..layout.nodes {
            for direction in (0..layout.directions).map(Direction::from_index) {
                // Flits come in through the port that faces where they came from.
                let first = usize::from(layout.first_queue[direction.opposite().index()]);
                let queues = first..first + layout.channels;
                flits.extend(queues.map(|queue| self.step.flits(layout, node, queue) as u16));
            }
        }
        flits
    }

    fn fields(&mut self, clock: &mut Clock, archive: &mut Archive) -> Result<(), SaveError> {
        clock.fields(archive)?;
        self.step.fields(&self.layout, archive)
    }

    fn copy(&self) -> Box<dyn Engine> {
        Box::new(Self {
            network: self.network.clone(),
            layout: self.layout.clone(),
            step: self.step.copy(),
            may_deadlock: self.may_deadlock,
            may_hold: self.may_hold,
        })
    }
}

impl Run {
    /// Tells a probe what was decided.
    fn report(&self, cycle: u64, probe: &mut dyn Probe) {
        let (layout, step) = (&*self.layout, &*self.step);
        let wanted = probe.wants();
        if wanted.blocked {
            let mut links: Vec<LinkId> = Vec::new();
            step.blocked(layout, &mut links);
            links.iter().for_each(|&link| probe.link_blocked(cycle, link));
        }
        let mut moves = Vec::new();
        step.moves(layout, &mut moves);
        if wanted.arbitration {
            let mut losses = Vec::new();
            step.queue_losses(layout, &mut losses);
            for &Loss { output, granted, blocked } in &losses {
                probe.queue_blocked(cycle, output, granted, blocked);
            }
            step.channel_losses(layout, &moves, &mut losses);
            for &Loss { output, granted, blocked } in &losses {
                probe.channel_blocked(cycle, output, granted, blocked);
            }
        }
        if wanted.flits {
            for &Move { output, flit, injected } in &moves {
                if injected && flit.head {
                    probe.packet_injected(cycle, flit);
                }
                if usize::from(output.port) == layout.directions {
                    probe.flit_ejected(cycle, output.node, flit);
                } else {
                    let link = output.node * layout.directions as u32 + u32::from(output.port);
                    probe.flit_crosses(cycle, link, output.channel, flit);
                }
            }
        }
    }
}
