//! Routers as sets of channels, words of requests and arrays over all routers. Where nobody sees the order of lists, or only
//! drawn numbers and flits that cross to one output in a step do, all routers do each part of a step together; else each
//! does a whole step before the next one ([`in_turn`]).

mod beside;
mod channels;
mod common;
mod divided;
mod form;
mod forward;
mod in_turn;
mod layout;
mod links;
mod matrix;
mod parts;
mod priorities;
mod saving;
mod seen;
mod sending;
mod sharing;
mod state;
mod step;
mod switch;
mod wheel;
mod worker;

pub(super) use {
    matrix::turn,
    parts::Part,
    state::{HEAD, Known, Lane, NO_PORT, NOBODY, PACKET, Sets, TAIL},
    worker::Worker,
};
