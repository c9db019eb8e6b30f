//! HTTP/1 on one connection, from its socket to its close: hyper over our wire, the life of each request, and what
//! follows hyper: the response to a refused head, the relay of an upgraded connection, a close that loses no response.
//! hyper never gets a head that was not checked.

pub(crate) mod refused;
pub(crate) mod serve;
pub(crate) mod service;
pub(crate) mod upgrade;
pub(crate) mod wire;
