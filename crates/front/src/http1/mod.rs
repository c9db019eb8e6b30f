//! HTTP/1 on one connection, from its socket to its close: hyper over our wire, the life of each request, and what
//! comes when hyper has done its part: the answer to a head that was refused, the relay of an upgraded connection, a
//! close that loses nothing. hyper never gets a head that was not checked.

pub(crate) mod refused;
pub(crate) mod serve;
pub(crate) mod service;
pub(crate) mod upgrade;
pub(crate) mod wire;
