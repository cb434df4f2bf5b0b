//! The closed list of methods.

use super::{Budget, Incumbent, Method, Task};

macro_rules! methods {
    ($($(#[cfg($condition:meta)])? $module:ident::$name:ident: $doc:literal,)+) => {
        /// A method by name.
        ///
        /// ```
        /// use flitloom_core::schedule::MethodName;
        /// assert_eq!(MethodName::from_name("slots"), Some(MethodName::Slots));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum MethodName {
            $(#[doc = $doc] $(#[cfg($condition)])? $name,)+
        }

        impl MethodName {
            /// All of them.
            pub const ALL: &[Self] = &[$($(#[cfg($condition)])? Self::$name,)+];

            /// As users write it.
            pub fn name(self) -> &'static str {
                match self {
                    $($(#[cfg($condition)])? Self::$name => super::$module::$name::NAME,)+
                }
            }

            /// What it does, in a line.
            pub fn summary(self) -> &'static str {
                match self {
                    $($(#[cfg($condition)])? Self::$name => super::$module::$name::SUMMARY,)+
                }
            }

            /// Whether it can do anything for a task.
            pub fn applies(self, task: &Task) -> bool {
                match self {
                    $($(#[cfg($condition)])? Self::$name => super::$module::$name::applies(task),)+
                }
            }

            /// Looks for shorter schedules, and gives them to the incumbent.
            pub fn improve(self, task: &Task, incumbent: &mut Incumbent, budget: &mut Budget) {
                match self {
                    $($(#[cfg($condition)])? Self::$name => {
                        super::$module::$name::improve(task, incumbent, budget);
                    })+
                }
            }
        }
    };
}

methods! {
    greedy::Greedy: "One pass of list scheduling.",
    slots::Slots: "All-to-all in step with rotating slots.",
    turns::Turns: "All-to-all by one offset after the other.",
    ejection::Ejection: "Starts by ejection within target durations.",
    few_bends::FewBends: "As `Joint`, over the routes that go through every dimension once.",
    joint::Joint: "Routes and starts at once.",
    exchanged::Exchanged: "As `Joint`, the same when dimensions are exchanged.",
    sweeps::Sweeps: "Jobs in phases, moved to and fro.",
    #[cfg(test)]
    single_file::SingleFile: "One job behind the other, for tests.",
}

impl MethodName {
    /// The method with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|method| method.name() == name)
    }
}
