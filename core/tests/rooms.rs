//! The layout of the core is what ARCHITECTURE.md says: no room knows one below it in the table, and
//! unsafe code stays where it is allowed.

use std::{
    collections::BTreeSet,
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

#[test]
fn unsafe_code_is_in_one_file() {
    let unsafe_in = |file: &PathBuf| {
        let code = code(&fs::read_to_string(file).unwrap());
        let mut words = code.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
        words.any(|word| word == "unsafe")
    };
    let found: Vec<PathBuf> = files(&source()).into_iter().filter(unsafe_in).collect();
    assert_eq!(found, [source().join("engine/planes/vector.rs")]);
}

/// A routing function, a throttle and a search method are a file of their own, its `mod` line and a line in the list: the
/// three that exist in tests only are named nowhere else.
#[test]
fn a_member_of_a_list_is_one_file_and_one_line() {
    for (room, file, name) in [
        ("routing", "reverse_order", "ReverseOrder"),
        ("throttle", "even_cycles", "EvenCycles"),
        ("schedule/methods", "single_file", "SingleFile"),
    ] {
        let mut lines = Vec::new();
        for path in files(&source()).into_iter().filter(|path| !path.ends_with(format!("{file}.rs"))) {
            let text = fs::read_to_string(&path).unwrap();
            let named = text.lines().filter(|line| line.contains(file) || line.contains(name));
            lines.extend(named.map(|line| line.split('"').next().unwrap().trim().to_owned()));
        }
        lines.sort();
        let mut expected = [format!("{file}::{name}:"), format!("mod {file};")];
        expected.sort();
        assert_eq!(lines, expected, "{room}");
        assert!(source().join(room).join(file).with_extension("rs").exists());
    }
}
