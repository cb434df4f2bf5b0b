//! Names of the members of closed lists, as users write them.

pub use crate::fault::UnknownName;

/// A closed list: members with their names, which its `NAMES` tell in order.
macro_rules! named {
    (
        $(#[$about:meta])*
        pub enum $List:ident { $($(#[$what:meta])* $Member:ident = $name:literal,)+ }
    ) => {
        $(#[$about])*
        pub enum $List { $($(#[$what])* $Member,)+ }

        impl $List {
            /// All of them by name.
            pub const NAMES: [(&'static str, Self); [$($name),+].len()] = [$(($name, Self::$Member)),+];
        }
    };
}

/// The member of a list with a name.
///
/// ```
/// use flitloom_core::{names, router::FlowControl};
/// assert_eq!(names::find(&FlowControl::NAMES, "bubble"), Ok(FlowControl::Bubble));
/// let error = names::find(&FlowControl::NAMES, "bubbles").unwrap_err();
/// assert_eq!(error.to_string(), "\"bubbles\" is unknown; it must be one of wormhole, cut-through, bubble");
/// ```
///
/// # Errors
/// None has it.
pub fn find<T: Copy>(list: &[(&'static str, T)], name: &str) -> Result<T, UnknownName> {
    let found = list.iter().find(|(known, _)| *known == name);
    found.map(|&(_, member)| member).ok_or_else(|| UnknownName::of("", "it must be one of", name, &all(list)))
}

/// The names of a list.
///
/// ```
/// use flitloom_core::{names, router::ProcessorQueues};
/// assert_eq!(names::all(&ProcessorQueues::NAMES), ["one", "per-direction"]);
/// ```
pub fn all<T>(list: &[(&'static str, T)]) -> Vec<&'static str> {
    list.iter().map(|(name, _)| *name).collect()
}
