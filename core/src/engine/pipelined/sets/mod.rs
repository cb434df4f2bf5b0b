//! Routers in which nobody sees the order of lists, or only drawn numbers and flits that cross to one output in a step
//! do, with a crossbar of one cycle. They are kept as sets of channels, words of requests and arrays over all routers, and do
//! what the other routers do, to the same bit.

mod channels;
mod common;
mod divided;
mod form;
mod layout;
mod links;
mod matrix;
mod parts;
mod priorities;
mod saving;
mod seen;
mod sharing;
mod state;
mod step;
mod switch;
mod wheel;
mod worker;

pub(super) use {
    matrix::turn,
    parts::Part,
    state::{HEAD, Lane, NOBODY, PACKET, Sets, TAIL},
    worker::Worker,
};
