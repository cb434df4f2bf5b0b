//! What flows over a network whichever way it goes: prices on channels, and what they prove.

pub mod prices;
