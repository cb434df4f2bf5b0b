use super::{Operation, OperationKind};
use crate::fault::Fault;
use std::collections::HashMap;

/// Largest number of ranks a text may declare.
const MAX_RANKS: u32 = 1 << 20;

/// Reads the operations of all ranks from a GOAL text (Group Operation Assembly Language, as LogGOPSim
/// reads it: `send 8b to 3 tag 0`, `recv 8b from 0 tag 0`, `calc 100`, `l2 requires l1`).
///
/// Sizes in bytes become flits of `flit_bytes`, rounded up; computing times, in whatever unit the
/// text has, become `calc_cycles` cycles each. A rank has one processor and one network port: computations on
/// several `cpu`s, messages on several `nic`s and `irequires` (may start when the other has started) are refused.
///
/// ```
/// use flitloom_core::traffic::{OperationKind, parse_goal};
/// let text = "num_ranks 2\nrank 0 {\nl1: calc 100\nl2: send 33b to 1 tag 7\nl2 requires l1\n}\n\
///             rank 1 {\nl1: recv 33b from 0 tag 7\n}\n";
/// let ranks = parse_goal(text, 16, 2)?;
/// assert_eq!(ranks[0][0].kind, OperationKind::Compute { cycles: 200 });
/// assert_eq!(ranks[0][1].kind, OperationKind::Send { to: 1, flits: 3, tag: 7 });
/// assert_eq!(ranks[0][1].requires, [0]);
/// # Ok::<(), flitloom_core::traffic::GoalError>(())
/// ```
///
/// # Errors
/// A line is not GOAL; the error names the line and what would be right.
pub fn parse_goal(text: &str, flit_bytes: u64, calc_cycles: u64) -> Result<Vec<Vec<Operation>>, GoalError> {
    let units = Units { flit_bytes: flit_bytes.max(1), calc_cycles };
    let mut ranks: Option<Vec<Vec<Operation>>> = None;
    let mut open: Option<Block> = None;
    let mut last_line = 0;
    for (line, raw) in (1..).zip(text.lines()) {
        last_line = line;
        let content = without_comment(raw).trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = content.split_whitespace().collect();
        let bad = |expected| GoalError { line, found: content.to_owned(), expected };
        match (&mut ranks, &mut open) {
            (None, _) => match words[..] {
                ["num_ranks", count] => {
                    let count: u32 = count.parse().map_err(|_| bad("num_ranks and a number"))?;
                    if count == 0 || count > MAX_RANKS {
                        return Err(bad("num_ranks between 1 and 1048576"));
                    }
                    ranks = Some(vec![Vec::new(); count as usize]);
                }
                _ => return Err(bad("num_ranks N as the first line")),
            },
            (Some(ranks), None) => match words[..] {
                ["rank", rank, "{"] => {
                    let rank: usize = rank.parse().map_err(|_| bad("rank N {"))?;
                    if ranks.get(rank).is_none_or(|operations| !operations.is_empty()) {
                        return Err(bad("a rank below num_ranks that has not been given yet"));
                    }
                    open = Some(Block { rank, ..Block::default() });
                }
                _ => return Err(bad("rank N {")),
            },
            (Some(ranks), Some(block)) => {
                if content == "}" {
                    ranks[block.rank] = std::mem::take(&mut block.operations);
                    open = None;
                } else {
                    block.line(&words, &units).map_err(bad)?;
                }
            }
        }
    }
    let end = |expected| GoalError { line: last_line, found: "the end of the text".to_owned(), expected };
    match (ranks, open) {
        (None, _) => Err(end("num_ranks N as the first line")),
        (_, Some(_)) => Err(end("} at the end of the last rank")),
        (Some(ranks), None) => Ok(ranks),
    }
}

/// What stands before two slashes.
fn without_comment(line: &str) -> &str {
    let slashes = line.as_bytes().windows(2).position(|two| two == [b'/'; 2]);
    &line[..slashes.unwrap_or(line.len())]
}

struct Units {
    flit_bytes: u64,
    calc_cycles: u64,
}

/// The operations of one rank as far as they were read.
#[derive(Default)]
struct Block {
    rank: usize,
    operations: Vec<Operation>,
    labels: HashMap<String, u32>,
    /// Where it computes, and by which interface it sends and receives.
    processor: Option<u32>,
    interface: Option<u32>,
}

impl Block {
    fn line(&mut self, words: &[&str], units: &Units) -> Result<(), &'static str> {
        if let [_, "irequires", _] = words {
            return Err("requires: that one starts when the other has started is not simulated");
        }
        if let [label, "requires", required] = words {
            let find =
                |label: &str| self.labels.get(label).copied().ok_or("labels given before in this rank");
            let (operation, required) = (find(label)?, find(required)?);
            self.operations[operation as usize].requires.push(required);
            return Ok(());
        }
        let (label, rest) = match words {
            [label, rest @ ..] if label.ends_with(':') => (Some(label.trim_end_matches(':')), rest),
            _ => (None, words),
        };
        let (kind, attributes) = operation(rest, units)?;
        if matches!(kind, OperationKind::Compute { .. }) {
            if *self.processor.get_or_insert(attributes.cpu) != attributes.cpu {
                return Err("the computations of a rank on one cpu: a rank has one processor");
            }
        } else if *self.interface.get_or_insert(attributes.nic) != attributes.nic {
            return Err("the messages of a rank on one nic: a rank has one network port");
        }
        if let Some(label) = label
            && self.labels.insert(label.to_owned(), self.operations.len() as u32).is_some()
        {
            return Err("a label not given before in this rank");
        }
        self.operations.push(Operation { kind, requires: Vec::new() });
        Ok(())
    }
}

fn operation(words: &[&str], units: &Units) -> Result<(OperationKind, Attributes), &'static str> {
    const SEND: &str = "send SIZEb to RANK tag TAG";
    const RECEIVE: &str = "recv SIZEb from RANK tag TAG";
    const CALC: &str = "calc TIME";
    let number = |text: &str| text.parse::<u64>().ok();
    let flits = |size: &str| Some(number(size.strip_suffix('b')?)?.div_ceil(units.flit_bytes));
    let rank = |text: &str| text.parse::<u32>().ok();
    match words {
        ["send", size, "to", to, rest @ ..] => {
            let more = attributes(rest).ok_or(SEND)?;
            let (flits, to) = flits(size).zip(rank(to)).ok_or(SEND)?;
            Ok((OperationKind::Send { to, flits, tag: more.tag }, more))
        }
        ["recv", size, "from", from, rest @ ..] => {
            let more = attributes(rest).ok_or(RECEIVE)?;
            let (flits, from) = flits(size).zip(rank(from)).ok_or(RECEIVE)?;
            Ok((OperationKind::Receive { from, flits, tag: more.tag }, more))
        }
        ["calc", time, rest @ ..] => {
            let more = attributes(rest).ok_or(CALC)?;
            let cycles = number(time).and_then(|time| time.checked_mul(units.calc_cycles)).ok_or(CALC)?;
            Ok((OperationKind::Compute { cycles }, more))
        }
        _ => Err("an operation (send, recv, calc), a requirement (l2 requires l1) or }"),
    }
}

/// What is said behind an operation; 0 where it is not.
#[derive(Clone, Copy, Default)]
struct Attributes {
    tag: u32,
    cpu: u32,
    nic: u32,
}

fn attributes(words: &[&str]) -> Option<Attributes> {
    words.chunks(2).try_fold(Attributes::default(), |more, pair| match *pair {
        ["tag", value] => Some(Attributes { tag: value.parse().ok()?, ..more }),
        ["cpu", value] => Some(Attributes { cpu: value.parse().ok()?, ..more }),
        ["nic", value] => Some(Attributes { nic: value.parse().ok()?, ..more }),
        _ => None,
    })
}

/// A line that is not GOAL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoalError {
    /// Its number, from 1.
    pub line: usize,
    /// What stands there.
    pub found: String,
    /// What would be right.
    pub expected: &'static str,
}

crate::fault::displays_fault!(GoalError);

impl GoalError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        let problem = format!("line {}: {}", self.line, self.found);
        Fault::somewhere(problem, format!("expected {}", self.expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mistakes_are_named_with_their_line() {
        let error = |text: &str| parse_goal(text, 16, 1).unwrap_err().to_string();
        assert_eq!(error(""), "line 0: the end of the text; expected num_ranks N as the first line");
        assert_eq!(
            error("num_ranks 1\nrank 0 {\nsend 8 to 0\n}"),
            "line 3: send 8 to 0; expected send SIZEb to RANK tag TAG"
        );
        assert!(error("num_ranks 1\nrank 1 {").contains("line 2"));
        assert!(error("num_ranks 1\nrank 0 {\nl1: calc 5").contains("} at the end of the last rank"));
        assert!(error("num_ranks 1\nrank 0 {\nl1: calc 5\nl1: calc 5").contains("not given before"));
        let rank = |lines: &str| error(&format!("num_ranks 2\nrank 0 {{\n{lines}\n}}"));
        assert_eq!(
            rank("a: calc 1\nb: calc 1 cpu 1"),
            "line 4: b: calc 1 cpu 1; expected the computations of a rank on one cpu: a rank has one processor"
        );
        let two = rank("send 8b to 1 nic 1\nrecv 8b from 1");
        assert!(two.contains("line 4") && two.contains("on one nic"), "{two}");
        assert!(rank("a: calc 1\nb: calc 1\nb irequires a").contains("is not simulated"));
        assert!(error("num_ranks 99999999999").contains("num_ranks and a number"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(
            lines in prop::collection::vec(
                "(num_ranks|rank|send|recv|calc|l1:|l2|requires|to|from|tag|[0-9]{1,3}b?|\\{|\\}| ){0,8}", 0..12
            )
        ) {
            let _ = parse_goal(&lines.join("\n"), 16, 1);
        }
    }
}
