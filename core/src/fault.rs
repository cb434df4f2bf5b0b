//! What is wrong with a description, in parts.

use std::{borrow::Cow, fmt};

/// What is wrong with a description: where, what, and what would be right.
///
/// ```
/// use flitloom_core::{fabric::Shape, fault::Fault, router::RouterConfig};
/// let router = RouterConfig { buffer: 0, ..RouterConfig::default() };
/// let error = router.check(&Shape::torus(&[4, 4])?).unwrap_err();
/// let Fault { field, problem, advice, .. } = error.fault();
/// assert_eq!((&field[..], &problem[..], &advice[..]), ("router.buffer", "is 0 flits", "it must be 1 to 1024"));
/// assert_eq!(error.to_string(), "router.buffer is 0 flits; it must be 1 to 1024");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Path to the field, as `router.buffer`; empty where it is not one field.
    pub field: Cow<'static, str>,
    /// What is wrong.
    pub problem: String,
    /// What would be right; may be empty.
    pub advice: String,
    /// Whether the problem goes on from the name of the field ("is 0 flits").
    pub goes_on: bool,
    /// The name that is none of those which the advice lists, where that is the problem.
    pub unknown: Option<UnknownName>,
}

impl Fault {
    /// What is wrong of a field, said as its predicate: "is 0 flits".
    pub fn of(field: &'static str, problem: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { goes_on: true, ..Self::at(field, problem, advice) }
    }

    /// What is wrong at a field, in words that stand for themselves.
    pub fn at(
        field: impl Into<Cow<'static, str>>,
        problem: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            field: field.into(),
            problem: problem.into(),
            advice: advice.into(),
            goes_on: false,
            unknown: None,
        }
    }

    /// What is wrong where only who asked knows the field.
    pub fn somewhere(problem: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::at("", problem, advice)
    }

    /// The same at a field, unless it knows its own.
    pub fn or_at(self, field: impl Into<Cow<'static, str>>) -> Self {
        if self.field.is_empty() { Self { field: field.into(), ..self } } else { self }
    }

    /// The same at the field of that name in a table.
    pub fn within(self, table: &str) -> Self {
        Self { field: format!("{table}.{}", self.field).into(), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let between = match (&self.field[..], self.goes_on) {
            ("", _) => "",
            (_, true) => " ",
            (_, false) => ": ",
        };
        write!(out, "{}{between}{}", self.field, self.problem)?;
        if self.advice.is_empty() { Ok(()) } else { write!(out, "; {}", self.advice) }
    }
}

/// An error that says its [`Fault`]: displayed as that.
macro_rules! displays_fault {
    ($($error:ty),+) => {
        $(impl std::fmt::Display for $error {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.fault().fmt(out)
            }
        }

        impl std::error::Error for $error {})+
    };
}
pub(crate) use displays_fault;

/// A name that is none of a list.
///
/// ```
/// use flitloom_core::fault::{Fault, UnknownName};
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

displays_fault!(UnknownName);
