//! How many cases are drawn: of the tests of the core from outside and from inside (`core/src/lib.rs`).

/// Whether a sample will do: `FLITLOOM_TESTS=quick`.
pub(crate) fn is_quick() -> bool {
    std::env::var("FLITLOOM_TESTS").is_ok_and(|how| how == "quick")
}

/// So many cases, a quarter of them where a sample will do; PROPTEST_CASES=2560 makes them ten times as many.
pub(crate) fn drawn(usual: u32) -> u32 {
    let cases = usual * proptest::test_runner::Config::default().cases / 256;
    cases.div_ceil(if is_quick() { 4 } else { 1 })
}
