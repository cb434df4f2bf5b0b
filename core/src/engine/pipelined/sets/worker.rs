//! What a thread does with its part of the routers.

use super::{
    super::{
        exchange::{Exchange, Messages},
        rules::Rules,
    },
    parts::{Borders, Part},
};
use std::sync::Arc;

/// A part that has a thread of its own.
#[derive(Debug)]
pub(in super::super) struct Worker {
    pub exchange: Arc<Exchange>,
    pub borders: Arc<Borders>,
    pub number: usize,
    pub part: Part,
    pub messages: Messages,
}

impl Worker {
    /// Runs its cycles, until there are no more.
    pub(in super::super) fn run(mut self, rules: &Rules) -> Part {
        let _watch = self.exchange.watch();
        let Self { exchange, borders, number, part, messages } = &mut self;
        for cycle in 0.. {
            let Some(now) = exchange.time(cycle) else { break };
            messages.take(exchange, cycle);
            part.cycle(now, rules, borders, (&mut messages.come, &mut messages.gone));
            messages.give(exchange, cycle);
            exchange.report(*number, part.balance());
            exchange.ring(*number);
        }
        self.part
    }
}
