//! `/metrics`: OpenMetrics for clients that ask for it, Prometheus's text format for all others. `metrics.rs` lists the
//! metrics, docs/metrics.md explains them.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::admin::histogram::Histogram;

/// Media type by which OpenMetrics is requested.
pub const OPEN_METRICS: &str = "application/openmetrics-text";

const OPEN_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The value of a metric.
#[derive(Debug, Clone)]
pub enum Value {
    Count(u64),
    /// A counter that is no whole number.
    Sum(f64),
    Gauge(f64),
    Times(Box<Histogram>),
}

/// A metric: the values of one name, each with its labels.
#[derive(Debug, Clone)]
pub struct Family {
    /// Name; of a counter, without `_total`.
    pub name: &'static str,
    pub help: &'static str,
    pub rows: Vec<(Vec<(&'static str, String)>, Value)>,
}

/// All metrics, as a collector of the library.
#[derive(Debug)]
struct MetricSet(Vec<Family>);

/// Media type and text of the response.
pub fn write(families: Vec<Family>, is_open: bool) -> (&'static str, String) {
    let counters = families.iter().filter(|family| matches!(family.kind(), MetricType::Counter));
    let counters: Vec<&str> = counters.map(|family| family.name).collect();
    let mut registry = Registry::default();
    registry.register_collector(Box::new(MetricSet(families)));
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = encode(&mut text, &registry);
    if is_open { (OPEN_TYPE, text) } else { (TEXT_TYPE, older(&text, &counters)) }
}

impl Family {
    fn kind(&self) -> MetricType {
        match self.rows.first() {
            Some((_, Value::Count(_) | Value::Sum(_))) => MetricType::Counter,
            Some((_, Value::Times(_))) => MetricType::Histogram,
            Some((_, Value::Gauge(_))) | None => MetricType::Gauge,
        }
    }
}

impl Collector for MetricSet {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for family in self.0.iter().filter(|family| !family.rows.is_empty()) {
            let mut metric = encoder.encode_descriptor(family.name, family.help, None, family.kind())?;
            for (labels, value) in &family.rows {
                let labels: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (*name, value.as_str())).collect();
                match labels.is_empty() {
                    true => put(&mut metric, value)?,
                    false => put(&mut metric.encode_family(&labels)?, value)?,
                }
            }
        }
        Ok(())
    }
}

fn put(row: &mut MetricEncoder<'_>, value: &Value) -> Result<(), fmt::Error> {
    match value {
        Value::Count(count) => row.encode_counter::<NoLabelSet, u64, u64>(count, None),
        Value::Sum(sum) => row.encode_counter::<NoLabelSet, f64, u64>(sum, None),
        Value::Gauge(number) => row.encode_gauge(number),
        Value::Times(histogram) => {
            let total = histogram.total_us as f64 / 1e6;
            row.encode_histogram::<NoLabelSet>(total, histogram.count(), &histogram.buckets_s(), None)
        }
    }
}

/// Converts OpenMetrics to the older format, which has `_total` in HELP and TYPE lines, too, and no EOF line.
fn older(text: &str, counters: &[&str]) -> String {
    let mut out = String::with_capacity(text.len() + 64 * counters.len());
    for line in text.lines().filter(|line| *line != "# EOF") {
        let head = line.strip_prefix("# HELP ").map(|rest| ("# HELP ", rest));
        match head.or_else(|| line.strip_prefix("# TYPE ").map(|rest| ("# TYPE ", rest))) {
            Some((mark, rest)) if rest.split(' ').next().is_some_and(|name| counters.contains(&name)) => {
                let (name, words) = rest.split_once(' ').unwrap_or((rest, ""));
                out.push_str(mark);
                out.push_str(name);
                out.push_str("_total ");
                out.push_str(words);
            }
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_form_has_totals_in_its_heads_and_no_end() {
        let open = "# HELP a_b Words.\n# TYPE a_b counter\na_b_total 1\n# HELP c D.\n# TYPE c gauge\nc 2\n# EOF\n";
        let older = older(open, &["a_b"]);
        let right =
            "# HELP a_b_total Words.\n# TYPE a_b_total counter\na_b_total 1\n# HELP c D.\n# TYPE c gauge\nc 2\n";
        assert_eq!(older, right);
    }

    #[test]
    fn all_kinds_are_written_and_labels_escaped() {
        let mut histogram = Histogram { total_us: 1_500_000, ..Histogram::default() };
        (histogram.counts[0], histogram.counts[128]) = (2, 1);
        let label = |value: &str| vec![("app", value.to_owned())];
        let families = vec![
            Family { name: "n", help: "N", rows: vec![(label("a\"b\\"), Value::Count(3))] },
            Family { name: "t_seconds", help: "T", rows: vec![(label("x"), Value::Times(Box::new(histogram)))] },
        ];
        let (_, text) = write(families, true);
        for line in [
            "n_total{app=\"a\\\"b\\\\\"} 3",
            "t_seconds_sum{app=\"x\"} 1.5",
            "t_seconds_count{app=\"x\"} 3",
            "t_seconds_bucket{le=\"0.00025\",app=\"x\"} 2",
            "t_seconds_bucket{le=\"30.0\",app=\"x\"} 2",
            "t_seconds_bucket{le=\"+Inf\",app=\"x\"} 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
