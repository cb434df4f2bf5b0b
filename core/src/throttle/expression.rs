//! Whole-number expressions in the syntax of Python, compiled to steps of a stack machine.

/// Steps of an expression at most.
const STEPS: usize = 40;
/// Bytes of a text at most.
const LONGEST: usize = 1000;

/// Binary operators by precedence, loosest first; those of a level are equally tight. `not` stands between
/// [`AND`] and comparisons.
const LEVELS: [&[(&str, Step)]; 5] = [
    &[("or", Step::Or)],
    &[("and", Step::And)],
    &[
        ("<=", Step::AtMost),
        (">=", Step::AtLeast),
        ("==", Step::Equal),
        ("!=", Step::Unequal),
        ("<", Step::Below),
        (">", Step::Above),
    ],
    &[("+", Step::Add), ("-", Step::Subtract)],
    &[("*", Step::Times), ("//", Step::Over), ("%", Step::Modulo)],
];
/// The level of `and`, of comparisons, and of what binds tighter than all operators.
const AND: usize = 1;
const COMPARISONS: usize = 2;
const TIGHTEST: usize = LEVELS.len();
/// How tight `not` binds, where a level is twice as tight as its number.
const NOT: usize = 2 * AND + 1;

/// A step of an expression. Those after [`Not`](Self::Not) take two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// No step: the expression has ended.
    End,
    Constant(u16),
    /// The variable of a place.
    Variable(u8),
    Not,
    Or,
    And,
    AtMost,
    AtLeast,
    Equal,
    Unequal,
    Below,
    Above,
    Add,
    Subtract,
    Times,
    Over,
    Modulo,
}

/// An expression of variables that are known by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Expression {
    steps: [Step; STEPS],
}

impl Expression {
    /// Compiles a text; nothing if it is none. Variables are known by their places among `names`.
    pub(super) fn parse(text: &str, names: &[&str]) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let mut parser = Parser { rest: text.trim(), names, steps: Vec::new() };
        parser.level(0)?;
        let mut steps = [Step::End; STEPS];
        steps.get_mut(..parser.steps.len())?.copy_from_slice(&parser.steps);
        parser.rest.is_empty().then_some(Self { steps })
    }

    fn steps(&self) -> impl Iterator<Item = Step> {
        self.steps.into_iter().take_while(|&step| step != Step::End)
    }

    /// Whether it uses the variable of a place.
    pub(super) fn uses(&self, place: usize) -> bool {
        self.steps().any(|step| step == Step::Variable(place as u8))
    }

    /// Its value, given those of variables by their places. Sums and products end at the largest numbers; what is
    /// divided by zero is zero.
    pub(super) fn value(&self, variable: impl Fn(usize) -> i64) -> i64 {
        let (mut stack, mut height) = ([0; STEPS], 0);
        for step in self.steps() {
            let pushed = match step {
                Step::Constant(value) => value.into(),
                Step::Variable(place) => variable(place.into()),
                Step::Not => {
                    height -= 1;
                    i64::from(stack[height] == 0)
                }
                _ => {
                    height -= 2;
                    step.of(stack[height], stack[height + 1])
                }
            };
            stack[height] = pushed;
            height += 1;
        }
        stack[0]
    }

    /// Its text, with the names of variables.
    pub(super) fn text(&self, names: &[&str]) -> String {
        let mut stack: Vec<(String, usize)> = Vec::new();
        let inside = |(text, own): (String, usize), tight: usize| {
            if own < tight { format!("({text})") } else { text }
        };
        for step in self.steps() {
            let made = match step {
                Step::Constant(value) => (value.to_string(), 2 * TIGHTEST),
                Step::Variable(place) => (names[usize::from(place)].to_owned(), 2 * TIGHTEST),
                Step::Not => {
                    let held = stack.pop().expect("a value is there");
                    (format!("not {}", inside(held, NOT)), NOT)
                }
                _ => {
                    let [right, left] = [stack.pop(), stack.pop()].map(|one| one.expect("a value is there"));
                    let (level, name) = step.operator();
                    let own = 2 * level;
                    // Comparisons do not follow one another.
                    let left = inside(left, own + usize::from(level == COMPARISONS));
                    (format!("{left} {name} {}", inside(right, own + 1)), own)
                }
            };
            stack.push(made);
        }
        stack.pop().map_or_else(String::new, |(text, _)| text)
    }
}

impl Step {
    fn of(self, left: i64, right: i64) -> i64 {
        match self {
            Self::Or => i64::from(left != 0 || right != 0),
            Self::And => i64::from(left != 0 && right != 0),
            Self::AtMost => i64::from(left <= right),
            Self::AtLeast => i64::from(left >= right),
            Self::Equal => i64::from(left == right),
            Self::Unequal => i64::from(left != right),
            Self::Below => i64::from(left < right),
            Self::Above => i64::from(left > right),
            Self::Add => left.saturating_add(right),
            Self::Subtract => left.saturating_sub(right),
            Self::Times => left.saturating_mul(right),
            Self::Over => floor(left, right).0,
            Self::Modulo => floor(left, right).1,
            Self::End | Self::Constant(_) | Self::Variable(_) | Self::Not => {
                unreachable!("takes no two values")
            }
        }
    }

    /// The level and name of an operator.
    fn operator(self) -> (usize, &'static str) {
        let all = LEVELS.iter().enumerate().flat_map(|(level, of)| of.iter().map(move |one| (level, one)));
        let mut found = all.filter(|(_, (_, step))| *step == self).map(|(level, (name, _))| (level, *name));
        found.next().expect("every operator has a name")
    }
}

/// Quotient and rest as Python has them: rounded down.
fn floor(left: i64, right: i64) -> (i64, i64) {
    match (left.checked_div(right), left.checked_rem(right)) {
        (Some(quotient), Some(rest)) if rest != 0 && (rest < 0) != (right < 0) => {
            (quotient - 1, rest + right)
        }
        (Some(quotient), Some(rest)) => (quotient, rest),
        _ => (0, 0),
    }
}

struct Parser<'a> {
    rest: &'a str,
    names: &'a [&'a str],
    steps: Vec<Step>,
}

impl Parser<'_> {
    /// Reads operators of a level and of those that bind tighter.
    fn level(&mut self, level: usize) -> Option<()> {
        if level == TIGHTEST {
            return self.operand();
        }
        if level == COMPARISONS && self.word("not").is_some() {
            self.level(level)?;
            return self.push(Step::Not);
        }
        self.level(level + 1)?;
        while let Some(step) = self.operator(level) {
            self.level(level + 1)?;
            self.push(step)?;
            if level == COMPARISONS {
                break;
            }
        }
        Some(())
    }

    fn operator(&mut self, level: usize) -> Option<Step> {
        let found = LEVELS[level].iter().find(|(name, _)| {
            if level <= AND { self.starts_with_word(name) } else { self.rest.starts_with(name) }
        });
        let (name, step) = *found?;
        self.skip(name.len());
        Some(step)
    }

    fn operand(&mut self) -> Option<()> {
        if self.rest.starts_with('(') {
            self.skip(1);
            self.level(0)?;
            return self.rest.starts_with(')').then(|| self.skip(1));
        }
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            let value = self.rest[..digits].parse().ok()?;
            self.skip(digits);
            return self.push(Step::Constant(value));
        }
        let place = self.names.iter().position(|name| self.starts_with_word(name))?;
        self.skip(self.names[place].len());
        self.push(Step::Variable(place as u8))
    }

    fn push(&mut self, step: Step) -> Option<()> {
        (self.steps.len() < STEPS).then(|| self.steps.push(step))
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.starts_with_word(word).then(|| self.skip(word.len()))
    }

    /// Whether a word is next, and not a longer one.
    fn starts_with_word(&self, word: &str) -> bool {
        let behind = self.rest.strip_prefix(word).map(|behind| behind.chars().next());
        behind.is_some_and(|next| next.is_none_or(|next| !next.is_alphanumeric() && next != '_'))
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest[bytes..].trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: &[&str] = &["a", "ab", "b"];

    fn value(text: &str) -> Option<i64> {
        Some(Expression::parse(text, NAMES)?.value(|place| [2, 3, -7][place]))
    }

    #[test]
    fn values_are_those_of_python() {
        for (text, expected) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("7 - 2 - 1", 4),
            ("b // a", -4),
            ("b % a", 1),
            ("b % (0 - a)", -1),
            ("ab - b % ab * a", -1),
            ("not a == 2", 0),
            ("not a and b or ab", 1),
            ("not (a and b)", 0),
            ("1 < 2 and 2 <= 2 and 3 > 2 and 2 >= 2 and 1 != 2 and 1 == 1", 1),
            ("1//0 + 1%0", 0),
            ("65535*65535*65535*65535*65535", i64::MAX),
        ] {
            assert_eq!(value(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        let nested = format!("{}a{}", "(".repeat(900), ")".repeat(900));
        let long = vec!["a"; 21].join("+");
        for text in [
            "",
            "a b",
            "abc",
            "a +",
            "+ a",
            "1 < 2 < 3",
            "(a",
            "a)",
            "a + not b",
            "65536",
            "a / b",
            &nested,
            &long,
        ] {
            assert_eq!(value(text), None, "{text}");
        }
        assert_eq!(value(&vec!["a"; 20].join("+")), Some(40));
        assert_eq!(value(&format!("{}a{}", "(".repeat(400), ")".repeat(400))), Some(2));
    }

    /// A text of every operator and its value.
    fn drawn() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            (0..20_u16).prop_map(|value| value.to_string()),
            proptest::sample::select(NAMES).prop_map(str::to_owned),
        ];
        leaf.prop_recursive(3, 12, 2, |inner| {
            let names: Vec<&str> = LEVELS.iter().flat_map(|of| of.iter().map(|(name, _)| *name)).collect();
            prop_oneof![
                inner.clone().prop_map(|text| format!("(not ({text}))")),
                (inner.clone(), proptest::sample::select(names), inner)
                    .prop_map(|(left, name, right)| format!("(({left}){name} ({right}))")),
            ]
        })
    }

    proptest! {
        #[test]
        fn texts_are_read_as_they_are_written(text in drawn()) {
            let one = Expression::parse(&text, NAMES).unwrap();
            let written = one.text(NAMES);
            prop_assert_eq!(Expression::parse(&written, NAMES), Some(one), "{} {}", text, written);
        }
    }
}
