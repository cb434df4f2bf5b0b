//! Long work beside a Python that can still be interrupted.

use crate::{errors::spec_error, interrupts::hold_interrupts};
use pyo3::{exceptions::PyKeyboardInterrupt, prelude::*};
use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook},
    sync::{
        Once,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// Time between two looks at Python's signals.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `work` on a thread of its own without the GIL. Its argument becomes true when Python was
/// interrupted (Ctrl-C) or `look` failed; `look` is called about 20 times a second.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
    look: impl FnMut(Python<'_>) -> PyResult<()> + Send,
) -> PyResult<T> {
    let (result, failure) = watched(py, work, look);
    failure.map_or(Ok(result), Err)
}

/// As [`interruptible`], for work that has something to show when it was interrupted.
pub fn keeping<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
    look: impl FnMut(Python<'_>) -> PyResult<()> + Send,
) -> (T, Option<PyErr>) {
    let (result, failure) = watched(py, work, look);
    if failure.is_some() {
        hold_interrupts();
    }
    (result, failure)
}

/// As [`interruptible`], returning both the result of the work and what `look` failed with.
pub fn watched<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
    mut look: impl FnMut(Python<'_>) -> PyResult<()> + Send,
) -> (T, Option<PyErr>) {
    let interrupt = AtomicBool::new(false);
    py.detach(|| {
        thread::scope(|scope| {
            let (finished, ended) = channel::<()>();
            let worker = scope.spawn(|| {
                // Dropping the sender wakes the loop below, also after a panic.
                let _finished = finished;
                work(&interrupt)
            });
            let mut failure = None;
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                // What is pressed while work comes to its end is answered, too.
                let looked = Python::attach(|py| match &failure {
                    None => py.check_signals().and_then(|()| look(py)),
                    Some(_) => py.check_signals(),
                });
                failure = looked.err().or(failure);
                if failure.is_some() {
                    interrupt.store(true, Ordering::Relaxed);
                }
            }
            let result = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            (result, failure)
        })
    })
}

/// As [`watched`], for a run whose state may come from a file. Checks of what is restored cannot see all that somebody
/// has changed: where such a run panics, the state is at fault, and nothing is told of the panic itself.
pub fn guarded<T: Send>(
    py: Python<'_>,
    is_restored: bool,
    work: impl FnOnce(&AtomicBool) -> T + Send,
    look: impl FnMut(Python<'_>) -> PyResult<()> + Send,
) -> PyResult<(T, Option<PyErr>)> {
    sound(py, is_restored, || Ok(watched(py, work, look)))
}

/// What is asked of a run whose state may come from a file, as in [`guarded`].
pub fn sound<T>(py: Python<'_>, is_restored: bool, ask: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let _quiet = is_restored.then(Quiet::begin);
    match catch_unwind(AssertUnwindSafe(ask)) {
        Ok(answer) => answer,
        Err(_) if is_restored => Err(spec_error(py, "state", "is damaged: it leads out of the network")),
        Err(panic) => resume_unwind(panic),
    }
}

/// While it lives nothing is printed of panics.
struct Quiet;

/// How many of these live.
static QUIET: AtomicUsize = AtomicUsize::new(0);

impl Quiet {
    fn begin() -> Self {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let usual = take_hook();
            set_hook(Box::new(move |panic| {
                if QUIET.load(Ordering::Relaxed) == 0 {
                    usual(panic);
                }
            }));
        });
        QUIET.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        QUIET.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A wall-clock limit; none if there is no limit, or one too far away.
pub fn deadline(seconds: Option<f64>) -> Option<Instant> {
    let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    limit.and_then(|limit| Instant::now().checked_add(limit))
}

/// Whether such a part of the time (from 0 to 1, of `seconds` from now on, if there is a limit) is over, or
/// work was interrupted.
pub fn time_is_over(interrupt: &AtomicBool, seconds: Option<f64>) -> impl Fn(f64) -> bool + '_ {
    let begin = Instant::now();
    move |part| {
        let limit = seconds.is_some_and(|seconds| begin.elapsed().as_secs_f64() >= seconds * part);
        limit || interrupt.load(Ordering::Relaxed)
    }
}

/// Whether work was ended by Ctrl-C, so that what it has is to be kept; any other failure is returned.
pub fn was_interrupted(py: Python<'_>, failure: Option<PyErr>) -> PyResult<bool> {
    match failure {
        Some(failure) if !failure.is_instance_of::<PyKeyboardInterrupt>(py) => Err(failure),
        failure => Ok(failure.is_some()),
    }
}

/// Runs `work` on a pool of `threads` threads, or on the common one.
pub fn on_threads<T: Send>(threads: Option<usize>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    match threads {
        None => Ok(work()),
        Some(threads) => rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map(|pool| pool.install(work))
            .map_err(|error| pyo3::exceptions::PyOSError::new_err(error.to_string())),
    }
}
