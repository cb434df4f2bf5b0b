//! The options of a BookSim2 file: names, defaults, how their values are read.

use crate::{engine::pipelined::ConfigError, fault::Fault};
use std::{collections::BTreeMap, fmt, ops::RangeInclusive};

/// The options that have a say in what happens, with their defaults.
pub const OPTIONS: &[(&str, &str)] = &[
    ("topology", "torus"),
    ("k", "8"),
    ("n", "2"),
    ("c", "1"),
    ("x", "8"),
    ("y", "8"),
    ("xr", "1"),
    ("yr", "1"),
    ("network_file", ""),
    ("subnets", "1"),
    ("routing_function", "none"),
    ("use_noc_latency", "1"),
    ("link_failures", "0"),
    ("router", "iq"),
    ("output_delay", "0"),
    ("credit_delay", "0"),
    ("internal_speedup", "1.0"),
    ("output_buffer_size", "-1"),
    ("noq", "0"),
    ("speculative", "0"),
    ("spec_check_elig", "1"),
    ("spec_check_cred", "1"),
    ("spec_mask_by_reqs", "0"),
    ("spec_sw_allocator", "prio"),
    ("num_vcs", "16"),
    ("vc_buf_size", "8"),
    ("buf_size", "-1"),
    ("buffer_policy", "private"),
    ("private_bufs", "-1"),
    ("private_buf_size", "1"),
    ("private_buf_start_vc", "-1"),
    ("private_buf_end_vc", "-1"),
    ("max_held_slots", "-1"),
    ("feedback_aging_scale", "1"),
    ("feedback_offset", "0"),
    ("wait_for_tail_credit", "0"),
    ("vc_busy_when_full", "0"),
    ("vc_prioritize_empty", "0"),
    ("vc_priority_donation", "0"),
    ("vc_shuffle_requests", "0"),
    ("hold_switch_for_packet", "0"),
    ("input_speedup", "1"),
    ("output_speedup", "1"),
    ("routing_delay", "1"),
    ("vc_alloc_delay", "1"),
    ("sw_alloc_delay", "1"),
    ("st_prepare_delay", "0"),
    ("st_final_delay", "1"),
    ("vc_allocator", "islip"),
    ("sw_allocator", "islip"),
    ("arb_type", "round_robin"),
    ("alloc_iters", "1"),
    ("classes", "1"),
    ("traffic", "uniform"),
    ("class_priority", "0"),
    ("perm_seed", "0"),
    ("injection_rate", "0.1"),
    ("injection_rate_uses_flits", "0"),
    ("packet_size", "1"),
    ("packet_size_rate", "1"),
    ("injection_process", "bernoulli"),
    ("burst_alpha", "0.5"),
    ("burst_beta", "0.5"),
    ("burst_r1", "-1.0"),
    ("priority", "none"),
    ("batch_size", "1000"),
    ("batch_count", "1"),
    ("max_outstanding_requests", "0"),
    ("use_read_write", "0"),
    ("write_fraction", "0.5"),
    ("read_request_begin_vc", "0"),
    ("read_request_end_vc", "5"),
    ("write_request_begin_vc", "2"),
    ("write_request_end_vc", "7"),
    ("read_reply_begin_vc", "8"),
    ("read_reply_end_vc", "13"),
    ("write_reply_begin_vc", "10"),
    ("write_reply_end_vc", "15"),
    ("read_request_subnet", "0"),
    ("read_reply_subnet", "0"),
    ("write_request_subnet", "0"),
    ("write_reply_subnet", "0"),
    ("read_request_size", "1"),
    ("write_request_size", "1"),
    ("read_reply_size", "1"),
    ("write_reply_size", "1"),
    ("sim_type", "latency"),
    ("warmup_periods", "3"),
    ("sample_period", "1000"),
    ("max_samples", "10"),
    ("measure_stats", "1"),
    ("latency_thres", "500.0"),
    ("warmup_thres", "0.05"),
    ("acc_warmup_thres", "0.05"),
    ("stopping_thres", "0.05"),
    ("acc_stopping_thres", "0.05"),
    ("sim_count", "1"),
    ("include_queuing", "1"),
    ("seed", "0"),
    ("deadlock_warn_timeout", "256"),
];

/// What is wrong with an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionError {
    /// The option.
    pub option: &'static str,
    /// What is wrong, and what would be right.
    pub text: String,
}

/// Fields of routers that options have another name for.
const FIELDS: [(&str, &str); 7] = [
    ("buffer", "vc_buf_size"),
    ("channels", "num_vcs"),
    ("crossbar_delay", "st_final_delay"),
    ("output_buffer", "output_buffer_size"),
    ("routing", "routing_function"),
    ("speculative_allocator", "spec_sw_allocator"),
    ("switch_allocator", "sw_allocator"),
];

impl OptionError {
    /// What is wrong with a field of routers, as the option that stands for it.
    pub(super) fn of(error: ConfigError) -> Self {
        let fault = error.fault();
        let renamed = FIELDS.iter().find(|(field, _)| *field == fault.field);
        let name = renamed.map_or(&fault.field[..], |(_, option)| option);
        let option =
            OPTIONS.iter().find(|(option, _)| *option == name).map_or("router", |(option, _)| option);
        Self { option, text: Fault { field: "".into(), ..fault }.to_string() }
    }
}

/// An option is refused.
pub(super) fn refuse<T>(option: &'static str, text: impl Into<String>) -> Result<T, OptionError> {
    Err(OptionError { option, text: text.into() })
}

impl fmt::Display for OptionError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}: {}", self.option, self.text)
    }
}

impl std::error::Error for OptionError {}

/// Options with their values, as text.
#[derive(Clone, Debug)]
pub struct Options {
    values: BTreeMap<&'static str, String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { values: OPTIONS.iter().map(|&(name, value)| (name, value.to_owned())).collect() }
    }
}

impl Options {
    /// Sets an option; false if there is none of this name.
    ///
    /// ```
    /// let mut options = flitloom_core::booksim::Options::default();
    /// assert!(options.set("num_vcs", "4"));
    /// assert!(!options.set("channels", "4"));
    /// ```
    #[must_use]
    pub fn set(&mut self, name: &str, value: &str) -> bool {
        let Some(slot) = self.values.get_mut(name) else { return false };
        value.trim().clone_into(slot);
        true
    }

    /// The text of an option.
    pub(super) fn text(&self, name: &'static str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    fn wrong(option: &'static str, value: &str, right: &str) -> OptionError {
        OptionError { option, text: format!("{value:?} is not {right}") }
    }

    /// A whole number; a fraction is cut off, as BookSim2 does.
    pub(super) fn whole(&self, name: &'static str) -> Result<i64, OptionError> {
        let text = self.text(name);
        let error = || Self::wrong(name, text, "a whole number");
        text.parse::<i64>()
            .or_else(|_| text.parse::<f64>().map(|value| value as i64))
            .ok()
            .filter(|value| i32::try_from(*value).is_ok())
            .ok_or_else(error)
    }

    /// A whole number in a range.
    pub(super) fn within(
        &self,
        name: &'static str,
        range: RangeInclusive<usize>,
    ) -> Result<usize, OptionError> {
        let value = self.whole(name)?;
        if let Some(value) = usize::try_from(value).ok().filter(|value| range.contains(value)) {
            return Ok(value);
        }
        let text = format!("{value} is not within {} to {}", range.start(), range.end());
        Err(OptionError { option: name, text })
    }

    /// Whether an option is above 0.
    pub(super) fn flag(&self, name: &'static str) -> Result<bool, OptionError> {
        Ok(self.whole(name)? > 0)
    }

    /// Whether an option is any number but 0.
    pub(super) fn is_set(&self, name: &'static str) -> Result<bool, OptionError> {
        Ok(self.whole(name)? != 0)
    }

    /// A number.
    pub(super) fn number(&self, name: &'static str) -> Result<f64, OptionError> {
        let text = self.text(name);
        text.parse()
            .ok()
            .filter(|value: &f64| value.is_finite())
            .ok_or_else(|| Self::wrong(name, text, "a number"))
    }

    /// One text per class: that of a list, or the same for all; the last one stands for those behind it.
    pub(super) fn per_class(&self, name: &'static str, classes: usize) -> Vec<String> {
        let text = self.text(name);
        let mut parts = parts(text);
        if parts.is_empty() {
            parts.push(String::new());
        }
        let last = parts[parts.len() - 1].clone();
        parts.resize(classes.max(1), last);
        parts
    }

    /// One number per class.
    pub(super) fn numbers_per_class(
        &self,
        name: &'static str,
        classes: usize,
    ) -> Result<Vec<f64>, OptionError> {
        let read = |text: String| text.parse().map_err(|_| Self::wrong(name, &text, "a number"));
        self.per_class(name, classes).into_iter().map(read).collect()
    }

    /// One whole number per class; a fraction is cut off, as BookSim2 does.
    pub(super) fn wholes_per_class(
        &self,
        name: &'static str,
        classes: usize,
    ) -> Result<Vec<i64>, OptionError> {
        Ok(self.numbers_per_class(name, classes)?.into_iter().map(|value| value as i64).collect())
    }
}

/// What begins and ends a list.
const BRACES: [char; 2] = ['{', '}'];

/// Whether a text begins as a list.
pub(super) fn is_list(text: &str) -> bool {
    text.starts_with(BRACES[0])
}

/// The parts of a list in braces, which may be lists themselves or have brackets; what its end does not close is
/// left out. Any other text is one part, none if it is empty.
pub(super) fn parts(text: &str) -> Vec<String> {
    let Some(inside) = text.strip_prefix('{') else {
        return if text.is_empty() { Vec::new() } else { vec![text.to_owned()] };
    };
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, letter) in inside.char_indices() {
        match letter {
            '{' | '(' => depth += 1,
            '}' | ')' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                parts.push(inside[start..at].trim().to_owned());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}
