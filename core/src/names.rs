//! Names of the members of closed lists, as users write them.

use crate::fault::Fault;

/// A name that is none of a list.
///
/// ```
/// use flitloom_core::{fault::Fault, names::UnknownName};
/// let error = UnknownName::of("colour", "the colours are", "rde", &["red", "blue"]);
/// assert_eq!(error.to_string(), "unknown colour \"rde\"; the colours are red, blue");
/// let Fault { advice, unknown, .. } = error.fault();
/// assert_eq!((&advice[..], unknown), ("the colours are red, blue", Some(error)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// What it should be the name of; empty where its field says so.
    pub kind: &'static str,
    /// What was given.
    pub given: String,
    /// How the list of what would be right begins: "it must be one of".
    pub words: &'static str,
    /// What would be right.
    pub known: Vec<&'static str>,
}

crate::fault::displays_fault!(UnknownName);

impl UnknownName {
    /// A name that is none of a list of some kind.
    pub fn of(kind: &'static str, words: &'static str, given: &str, known: &[&'static str]) -> Self {
        Self { kind, given: given.to_owned(), words, known: known.to_vec() }
    }

    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        let problem = match self.kind {
            "" => format!("{:?} is unknown", self.given),
            kind => format!("unknown {kind} {:?}", self.given),
        };
        let advice = format!("{} {}", self.words, self.known.join(", "));
        Fault { unknown: Some(self.clone()), ..Fault::somewhere(problem, advice) }
    }
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
