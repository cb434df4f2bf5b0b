//! The engine of a live page: a spec as JSON goes in, and a film comes out as a page reads it.
//!
//! The module speaks bytes: [`reserve`] says where the spec is to be written, [`run`] simulates, and
//! [`output`] says where the answer lies: four bytes with the length of a JSON head (little-endian), the
//! head, and the columns it names. A problem is a head with the one field `error`.

// Exported names are plain in this edition, so that the crate needs no unsafe code.

mod film;
mod spec;

use std::sync::Mutex;

static SPEC: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Makes room for a spec of `length` bytes and returns its place.
#[no_mangle]
pub extern "C" fn reserve(length: usize) -> *const u8 {
    let mut spec = SPEC.lock().unwrap_or_else(|broken| broken.into_inner());
    *spec = vec![0; length];
    spec.as_ptr()
}

/// Simulates the spec and returns the length of the answer.
#[no_mangle]
pub extern "C" fn run() -> usize {
    let spec = SPEC.lock().unwrap_or_else(|broken| broken.into_inner());
    let mut answer = ANSWER.lock().unwrap_or_else(|broken| broken.into_inner());
    *answer = answer_to(&spec);
    answer.len()
}

/// Where the answer lies.
#[no_mangle]
pub extern "C" fn output() -> *const u8 {
    ANSWER.lock().unwrap_or_else(|broken| broken.into_inner()).as_ptr()
}

/// The answer to a spec.
pub fn answer_to(spec: &[u8]) -> Vec<u8> {
    let (head, columns) = match spec::Spec::read(spec).and_then(|spec| film::film(&spec)) {
        Ok((head, columns)) => (head, columns),
        Err(error) => (serde_json::json!({ "error": error }), Vec::new()),
    };
    let mut head = head.to_string().into_bytes();
    // Columns of words begin at a multiple of four.
    head.resize(head.len().next_multiple_of(4), b' ');
    let mut answer = (head.len() as u32).to_le_bytes().to_vec();
    answer.append(&mut head);
    answer.extend(columns);
    answer
}
