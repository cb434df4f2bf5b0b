//! The last resort after Ctrl-C: a thread that ends the process when nothing else answers.

use pyo3::prelude::*;
use std::{
    fs::File,
    io::{IsTerminal, Read, Write},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

/// Number of the signal of Ctrl-C, and the exit code after it.
const SIGINT: u8 = 2;
const EXIT_CODE: i32 = 130;
/// Removes a progress bar from a terminal and shows the cursor again.
const CLEAR: &[u8] = b"\r\x1b[K\x1b[?25h";

/// Whether there are results to be written, so that only a second Ctrl-C ends the process.
static HELD: AtomicBool = AtomicBool::new(false);
/// Whether the user was told.
static TOLD: AtomicBool = AtomicBool::new(false);

/// Reads the numbers of signals from a pipe (`signal.set_wakeup_fd`); `patience` seconds after Ctrl-C it
/// ends the process, unless `hold_interrupts` was called, or the process ended by itself.
#[pyfunction]
pub fn watch_interrupts(reader: i32, patience: f64) -> PyResult<()> {
    // Opening it anew needs no raw descriptor, and leaves the given one to Python.
    let mut pipe = File::open(format!("/dev/fd/{reader}"))?;
    let patience = Duration::try_from_secs_f64(patience).unwrap_or_default();
    thread::Builder::new().name("interrupts".into()).spawn(move || {
        let mut signal = [0];
        while pipe.read_exact(&mut signal).is_ok() {
            if signal[0] != SIGINT {
                continue;
            }
            thread::sleep(patience);
            if !HELD.swap(false, Ordering::Relaxed) {
                end();
            }
        }
    })?;
    Ok(())
}

/// Leaves the process the time it needs to write what it has.
#[pyfunction]
pub fn hold_interrupts() {
    HELD.store(true, Ordering::Relaxed);
}

/// Whether the caller is the one who tells the user; true once.
#[pyfunction]
pub fn first_to_tell() -> bool {
    !TOLD.swap(true, Ordering::Relaxed)
}

fn end() -> ! {
    if first_to_tell() {
        let mut stderr = std::io::stderr();
        let clear = if stderr.is_terminal() { CLEAR } else { b"" };
        // There is nobody to tell if this fails.
        let _ = stderr.write_all(&[clear, b"interrupted\n"].concat());
    }
    signal_hook::low_level::exit(EXIT_CODE)
}
