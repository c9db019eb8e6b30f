//! Responses of the admin listener and the control socket: JSON, text, files of the page, and errors that say what
//! would be right.

use bytes::Bytes;
use engine::{Body, Response, ResponseHead};
use http::StatusCode;
use http::header::{self, HeaderName, HeaderValue};
use serde_json::{Value, json};

/// Outcome of a request to the control API: a JSON value, or an error with its status.
pub type Outcome = Result<Value, ApiError>;

/// Content-Security-Policy of all responses: only our own files, and no frame of another origin.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' \
                      data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// An error of the control API, with the status of its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    pub status: StatusCode,
    /// Text for the user: what is wrong, and what would be right.
    pub message: String,
    /// The methods that the path takes, where the method is wrong; else empty.
    pub allowed: &'static str,
}

impl ApiError {
    /// An error with a status for which there is no function below.
    pub fn new(status: StatusCode, message: impl Into<String>) -> ApiError {
        ApiError { status, message: message.into(), allowed: "" }
    }

    /// 400: the request is not valid.
    pub fn wrong(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::BAD_REQUEST, message)
    }

    /// 404: the path, application or worker does not exist.
    pub fn missing(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, message)
    }

    /// 405: the path takes these methods only.
    pub fn wrong_method(allowed: &'static str, message: impl Into<String>) -> ApiError {
        ApiError { allowed, ..ApiError::new(StatusCode::METHOD_NOT_ALLOWED, message) }
    }

    /// 409: the action was tried and failed.
    pub fn failed(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::CONFLICT, message)
    }

    /// 403: not allowed on this listener.
    pub fn refused(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::FORBIDDEN, message)
    }
}

impl From<String> for ApiError {
    fn from(message: String) -> ApiError {
        ApiError::wrong(message)
    }
}

/// A response of this media type, with the security headers of the admin page.
pub fn respond(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response {
    let mut head = ResponseHead::default();
    head.status = status;
    let fixed = [
        (header::CONTENT_TYPE, media_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    for (name, value) in fixed {
        head.headers.insert(name, HeaderValue::from_static(value));
    }
    let body = body.into();
    Response { head, body: if body.is_empty() { Body::Empty } else { Body::Full(body) } }
}

/// A JSON response, with a line feed at its end for terminals. One with status 405 has `Allow` (RFC 9110 section
/// 15.5.6).
pub fn json_of(outcome: Outcome) -> Response {
    let (status, value, allowed) = match outcome {
        Ok(value) => (StatusCode::OK, value, ""),
        Err(error) => (error.status, json!({ "error": error.message }), error.allowed),
    };
    let response = respond(status, "application/json", format!("{value}\n"));
    if allowed.is_empty() { response } else { with(response, header::ALLOW, allowed) }
}

/// Adds a header.
pub fn with(mut response: Response, name: HeaderName, value: &'static str) -> Response {
    response.head.headers.insert(name, HeaderValue::from_static(value));
    response
}
