//! Refusal of a request by the front.

use http::StatusCode;

/// Status and reason of a request that the front refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) why: &'static str,
}

/// The refusal of a body that breaks off.
pub(crate) const NO_END: Refusal = Refusal { status: StatusCode::BAD_REQUEST, why: "the body has no end" };

#[cold]
pub(crate) fn refuse<T>(status: StatusCode, why: &'static str) -> Result<T, Refusal> {
    Err(Refusal { status, why })
}

#[cold]
pub(crate) fn bad<T>(why: &'static str) -> Result<T, Refusal> {
    refuse(StatusCode::BAD_REQUEST, why)
}
