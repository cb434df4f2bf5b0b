//! The layout of the core is what ARCHITECTURE.md says: no room knows one below it in the table, and
//! unsafe code stays where it is allowed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Rooms of the core in the order of ARCHITECTURE.md's table.
fn rooms() -> Vec<String> {
    let text = fs::read_to_string(source().join("../../ARCHITECTURE.md")).unwrap();
    let room = |line: &str| Some(line.strip_prefix("| `core/src/")?.split_once("/`")?.0.to_owned());
    text.lines().filter_map(room).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// Code without comments, up to the tests at its end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let line = |line: &str| line.split("//").next().unwrap_or_default().to_owned() + "\n";
    text.lines().map(line).collect()
}

/// The rooms named behind `crate::`, one by one or in braces.
fn named(code: &str) -> BTreeSet<String> {
    let mut rooms = BTreeSet::new();
    for (start, _) in code.match_indices("crate::") {
        let rest = &code[start + "crate::".len()..];
        let Some(group) = rest.strip_prefix('{') else {
            rooms.insert(word(rest));
            continue;
        };
        let mut depth = 0;
        let mut first = true;
        for (place, letter) in group.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => first = true,
                _ if first && letter.is_alphabetic() => {
                    rooms.insert(word(&group[place..]));
                    first = false;
                }
                _ => {}
            }
        }
    }
    rooms
}

fn word(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

#[test]
fn groups_of_names_are_read() {
    let text = "use crate::{\n    engine::{Network, general::{self, Options}},\n    fabric::NodeId,\n    traffic,\n};\ncrate::probe::Flit";
    let expected = ["engine", "fabric", "probe", "traffic"].map(str::to_owned);
    assert_eq!(named(text), BTreeSet::from(expected));
}

#[test]
fn every_room_is_in_the_table() {
    let entries = fs::read_dir(source()).unwrap().map(|entry| entry.unwrap().path());
    let folders = entries.filter(|path| path.is_dir());
    let found: BTreeSet<String> =
        folders.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(found, BTreeSet::from_iter(rooms()));
}

#[test]
fn no_room_knows_one_below_it() {
    let rooms = rooms();
    let mut wrong = Vec::new();
    for (place, room) in rooms.iter().enumerate() {
        for file in files(&source().join(room)) {
            for other in named(&code(&fs::read_to_string(&file).unwrap())) {
                let is_file = source().join(&other).with_extension("rs").exists();
                if !is_file && !rooms[..=place].contains(&other) {
                    wrong.push(format!("{} uses crate::{other}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Files beside the rooms serve all of them and know no room.
#[test]
fn files_beside_the_rooms_know_none() {
    let entries = fs::read_dir(source()).unwrap().map(|entry| entry.unwrap().path());
    for file in entries.filter(|path| path.is_file() && !path.ends_with("lib.rs")) {
        let mut known = named(&code(&fs::read_to_string(&file).unwrap()));
        known.retain(|other| !source().join(other).with_extension("rs").exists());
        assert_eq!(known, BTreeSet::new(), "{}", file.display());
    }
}

/// Where something is: the modules from the crate on, and perhaps names in the last of them.
type Names = Vec<String>;

/// The paths of a `use`, one by one.
fn paths(tree: &str) -> Vec<Names> {
    let names = |text: &str| -> Names {
        let text = text.split(" as ").next().unwrap_or_default();
        text.split("::").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
    };
    let Some((head, rest)) = tree.split_once('{') else { return vec![names(tree)] };
    let rest = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for letter in rest.chars() {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        if letter == ',' && depth == 0 {
            parts.push(String::new());
        } else {
            parts.last_mut().unwrap().push(letter);
        }
    }
    let inner = parts.iter().filter(|part| !part.trim().is_empty()).flat_map(|part| paths(part));
    inner.map(|path| [names(head), path].concat()).collect()
}

/// The files of the core by the modules they are, and what each names of others: what it uses, and what it
/// passes on under its own name.
#[derive(Default)]
struct Files {
    names: BTreeMap<Names, (Vec<Names>, BTreeMap<String, Names>)>,
}

impl Files {
    fn of_the_core() -> Self {
        let mut texts = BTreeMap::new();
        for file in files(&source()) {
            let inside = file.strip_prefix(source()).unwrap().with_extension("");
            let mut module: Names = inside.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
            module.pop_if(|name| matches!(name.as_str(), "mod" | "lib"));
            texts.insert(module, code(&fs::read_to_string(file).unwrap()));
        }
        Self::of(&texts)
    }

    fn of(texts: &BTreeMap<Names, String>) -> Self {
        let absolute = |module: &Names, path: &Names| match path.first().map(String::as_str) {
            Some("crate") => Some(path[1..].to_vec()),
            Some("self") => Some([module, &path[1..]].concat()),
            Some("super") => {
                let up = path.iter().take_while(|name| *name == "super").count();
                Some([&module[..module.len().checked_sub(up)?], &path[up..]].concat())
            }
            Some(child) => {
                let child = [&module[..], &[child.to_owned()]].concat();
                texts.contains_key(&child).then(|| [module, &path[..]].concat())
            }
            None => None,
        };
        let mut all = Self::default();
        for (module, text) in texts {
            let (mut used, mut passed_on) = (Vec::new(), BTreeMap::new());
            let mut rest = String::new();
            let text = format!("\n{text}");
            for statement in text.split_inclusive(';') {
                let begin =
                    statement.rfind("\nuse ").or(statement.rfind(" use ")).or(statement.rfind("\npub use "));
                let Some(begin) = begin.filter(|_| statement.ends_with(';')) else {
                    rest += statement;
                    continue;
                };
                rest += &statement[..begin];
                let is_public = statement[..begin].ends_with("pub")
                    || statement[..begin].ends_with(')')
                    || statement[begin..].starts_with("\npub");
                let tree = statement[begin..].split_once("use ").unwrap().1.trim_end_matches(';');
                for path in paths(tree).iter().filter_map(|path| absolute(module, path)) {
                    if is_public {
                        passed_on.insert(path.last().unwrap().clone(), path);
                    } else {
                        used.push(path);
                    }
                }
            }
            for root in ["crate::", "super::"] {
                for (at, _) in rest.match_indices(root) {
                    let letter = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | ':');
                    let path: String = rest[at..].chars().take_while(|&one| letter(one)).collect();
                    // Where something may be seen is no use of that.
                    if !rest[..at].ends_with("::") && !rest[..at].ends_with("pub(in ") {
                        used.extend(absolute(module, &paths(path.trim_end_matches(':'))[0]));
                    }
                }
            }
            all.names.insert(module.clone(), (used, passed_on));
        }
        all
    }

    /// The file in which something is: where another passes it on, that one.
    fn home(&self, path: &[String]) -> Option<Names> {
        let file =
            (0..=path.len()).rev().map(|end| &path[..end]).find(|path| self.names.contains_key(*path))?;
        let passed_on = path.get(file.len()).and_then(|name| self.names[file].1.get(name));
        match passed_on {
            Some(to) => self.home(&[&to[..], &path[file.len() + 1..]].concat()),
            None => Some(file.to_vec()),
        }
    }

    /// The files that lead back to themselves through others.
    fn in_circles(&self) -> Vec<String> {
        let others = |file: &Names| -> BTreeSet<Names> {
            let homes = self.names[file].0.iter().filter_map(|path| self.home(path));
            homes.filter(|home| home != file).collect()
        };
        let arrows: BTreeMap<&Names, BTreeSet<Names>> =
            self.names.keys().map(|file| (file, others(file))).collect();
        let leads_back = |file: &Names| {
            let (mut seen, mut next) = (BTreeSet::new(), vec![file]);
            while let Some(here) = next.pop() {
                next.extend(arrows[here].iter().filter(|other| seen.insert(*other)));
            }
            seen.contains(file)
        };
        self.names.keys().filter(|file| leads_back(file)).map(|file| file.join("/")).collect()
    }
}

#[test]
fn circles_of_files_are_found() {
    let circles = |texts: &[(&str, &str)]| {
        let names = |path: &str| path.split('/').map(str::to_owned).collect::<Names>();
        Files::of(&texts.iter().map(|(path, text)| (names(path), format!("\n{text}"))).collect()).in_circles()
    };
    let open = [
        ("a", "pub(crate) use b::{B, C};\npub use b::D;\n"),
        ("a/b", "use crate::a::e::{self, F};\n"),
        ("a/e", ""),
    ];
    assert_eq!(circles(&open), [""; 0]);
    for back in [
        "use super::C;\n",
        "use crate::{a::{B as X}, z};\n",
        "\nfn f() { super::b::f() }\n",
        "use super::super::a::D;\n",
    ] {
        let closed = [open[0], open[1], ("a/e", back), ("z", "")];
        assert_eq!(circles(&closed), ["a/b", "a/e"], "{back}");
    }
}

/// Files are read one after the other, each with what it stands on before it.
#[test]
fn no_files_lead_round_in_a_circle() {
    assert_eq!(Files::of_the_core().in_circles(), Vec::<String>::new());
}

/// The functions that have this in their head.
fn functions<'a>(code: &'a str, head: &str) -> Vec<&'a str> {
    let function = |at: usize| {
        let line = &code[code[..at].rfind("fn ")?..];
        let begin = code[..code.len() - line.len()].rfind('\n').map_or(0, |end| end + 1);
        let indent = code[begin..].len() - code[begin..].trim_start_matches(' ').len();
        line.find(&format!("\n{}}}\n", " ".repeat(indent))).map(|end| &line[..end])
    };
    code.match_indices(head).filter_map(|(at, _)| function(at)).collect()
}

/// A visit takes the state apart and names every field, so that a new one does not compile until it is visited or
/// named as one that is not.
#[test]
fn states_are_taken_apart_without_a_rest() {
    let mut seen = 0;
    for file in files(&source()).into_iter().filter(|file| !file.ends_with("src/visit.rs")) {
        let code = code(&fs::read_to_string(&file).unwrap());
        for body in functions(&code, "visitor: &mut impl Visitor) -> Visited {") {
            let compact: String = body.split_whitespace().collect();
            if compact.ends_with("{Ok(())") {
                // What is at work nowhere knows nothing.
                continue;
            }
            seen += 1;
            let taken = compact.contains("letSelf{") || compact.contains("{matchself{");
            assert!(taken, "{} visits without taking its fields apart:\n{body}", file.display());
            assert!(!compact.contains("..}"), "{} leaves fields out:\n{body}", file.display());
        }
    }
    assert!(seen > 14, "{seen}");
}

#[test]
fn unsafe_code_is_in_one_file() {
    let unsafe_in = |file: &PathBuf| {
        let code = code(&fs::read_to_string(file).unwrap());
        let mut words = code.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
        words.any(|word| word == "unsafe")
    };
    let found: Vec<PathBuf> = files(&source()).into_iter().filter(unsafe_in).collect();
    assert_eq!(found, [source().join("bits/vector.rs")]);
}

/// A routing function, a throttle, its form in words, a router variant and a search method are a file of their own, its
/// `mod` line and a line in the list; a variant has its facts in another one, and a scheme is nothing but facts. Those
/// that exist in tests only are named nowhere else.
#[test]
fn a_member_of_a_list_is_one_file_and_one_line() {
    let mut expected: BTreeMap<&str, (BTreeSet<&str>, Vec<&str>)> = BTreeMap::new();
    for (room, file, name, lines) in [
        (
            "routing",
            "reverse_order",
            "ReverseOrder",
            &["mod reverse_order", "reverse_order::ReverseOrder"][..],
        ),
        ("throttle", "even_cycles", "EvenCycles", &["mod even_cycles", "even_cycles::EvenCycles"]),
        (
            "engine/general/throttles",
            "even_cycles",
            "EvenCycles",
            &["mod even_cycles", "even_cycles::EvenCycles"],
        ),
        ("schedule/methods", "single_file", "SingleFile", &["mod single_file", "single_file::SingleFile"]),
        (
            "engine/general/crossbar",
            "half_clock",
            "HalfClock",
            &["mod half_clock", "HalfClock: half_clock::HalfClock", "HalfClock = VariantFacts { name"],
        ),
        ("routes/methods", "highest_port", "highest-port", &["mod highest_port", "&highest_port::METHOD"]),
        ("flow", "one_switch", "one-switch", &["mod one_switch", "&super::one_switch::BOUND"]),
        ("router", "scheme", "AfterDown", &[]),
    ] {
        assert!(source().join(room).join(file).with_extension("rs").exists());
        let (names, all) = expected.entry(file).or_default();
        names.insert(name);
        names.extend(lines.first().map(|_| file));
        all.extend(lines);
    }
    for (file, (names, mut expected)) in expected {
        let mut lines = Vec::new();
        for path in files(&source()).into_iter().filter(|path| !path.ends_with(format!("{file}.rs"))) {
            let text = fs::read_to_string(&path).unwrap();
            let named = text.lines().filter(|line| names.iter().any(|name| line.contains(name)));
            let bare = |line: &str| {
                line.trim().split([',', ';', '"']).next().unwrap().trim_end_matches(": ").to_owned()
            };
            lines.extend(named.map(bare));
        }
        lines.sort();
        expected.sort_unstable();
        assert_eq!(lines, expected);
    }
}
