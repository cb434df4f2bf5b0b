//! Decisions are the same on every machine: no function whose rounding a library may choose takes part in them.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Functions of floating-point numbers without a prescribed rounding. (`sqrt` has one.)
const UNSPECIFIED: [&str; 29] = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "cos",
    "cosh",
    "exp",
    "exp2",
    "exp_m1",
    "gamma",
    "hypot",
    "ln",
    "ln_1p",
    "ln_gamma",
    "log",
    "log10",
    "log2",
    "powf",
    "powi",
    "sin",
    "sin_cos",
    "sinh",
    "tan",
    "tanh",
    "to_degrees",
];

/// Uses that are allowed: file, function, why.
const ALLOWED: [(&str, &str, &str); 7] = [
    ("probe/quantile.rs", "exp", "a quantile of a distribution, for a level of confidence"),
    ("probe/utilisation.rs", "ln", "statistics of measured values, compared with a level of confidence"),
    ("probe/utilisation.rs", "ln_1p", "statistics of measured values, compared with a level of confidence"),
    ("probe/utilisation.rs", "log2", "statistics of measured values, compared with a level of confidence"),
    ("probe/utilisation.rs", "powi", "statistics of measured values, compared with a level of confidence"),
    ("routes/by_destination/search.rs", "log2", "a test of its approximation, with a tolerance"),
    ("schedule/methods/joint/assign.rs", "exp", "a test of the distribution, with a tolerance"),
];

fn source_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            source_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Functions of the list that a text calls or names as a method or path (`x.exp()`, `f64::exp`), outside comments.
fn unspecified_in(text: &str) -> BTreeSet<&'static str> {
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or("")).collect();
    let code = code.join("\n");
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let uses = |name: &str| {
        code.match_indices(name).any(|(at, _)| {
            let (before, after) = (code[..at].trim_end(), &code[at + name.len()..]);
            let method = before.ends_with('.') && after.trim_start().starts_with('(');
            let path = before.ends_with("f64::") || before.ends_with("f32::");
            method || path && !after.starts_with(is_part)
        })
    };
    UNSPECIFIED.into_iter().filter(|name| uses(name)).collect()
}

#[test]
fn decisions_use_no_function_of_unspecified_rounding() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    source_files(&root, &mut files);
    let mut found = BTreeSet::new();
    for file in &files {
        let name = file.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        for function in unspecified_in(&fs::read_to_string(file).unwrap()) {
            found.insert((name.clone(), function));
        }
    }
    let allowed: BTreeSet<_> = ALLOWED.iter().map(|&(file, name, _)| (file.to_owned(), name)).collect();
    assert_eq!(found, allowed, "left: in use; right: allowed");
}

#[test]
fn the_scan_sees_methods_and_paths_but_no_other_names() {
    let text = "let a = x.powi(3); // y.ln()\nlet b = values.map(f64::exp);\nlet c = x\n    .powf(2.5);";
    assert_eq!(unspecified_in(text), BTreeSet::from(["exp", "powf", "powi"]));
    let text =
        "expected.pow(2); let log = 3; tables.expand(); 0..exp; Level::log(x); x.sqrt(); self.log.push(1)";
    assert_eq!(unspecified_in(text), BTreeSet::new());
}
