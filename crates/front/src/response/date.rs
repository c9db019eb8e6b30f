//! The `Date` header, formatted once a second. It follows a clock that is set back, while hyper's own waits until the
//! old time is reached again.

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderValue;

thread_local! {
    static DATE: RefCell<Date> = const { RefCell::new(Date(None)) };
}

/// The last second and its formatted time.
struct Date(Option<(u64, HeaderValue)>);

/// The value of the header.
pub(crate) fn header() -> HeaderValue {
    DATE.with_borrow_mut(|date| date.at(SystemTime::now()))
}

impl Date {
    fn at(&mut self, now: SystemTime) -> HeaderValue {
        let second = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        match &self.0 {
            Some((last, value)) if *last == second => value.clone(),
            _ => {
                // The text is letters, digits, spaces, commas and colons.
                let value = HeaderValue::try_from(httpdate::fmt_http_date(now)).unwrap_or(HeaderValue::from_static(""));
                self.0.insert((second, value)).1.clone()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn it_follows_the_clock_forward_and_back() {
        let mut date = Date(None);
        for (seconds, text) in [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (815_647_777, "Mon, 06 Nov 1995 08:49:37 GMT"),
            (784_111_778, "Sun, 06 Nov 1994 08:49:38 GMT"),
        ] {
            assert_eq!(date.at(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
