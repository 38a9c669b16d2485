//! A port for a server.

use std::net::{Ipv4Addr, TcpListener};

use crate::error::ServerError;
use crate::secret;

/// The first port of our servers. All of them are below the ports that the system assigns to clients.
///
/// While a server is down such a port could be given to a client, in the worst case to one that then connects to itself.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// Returns a port of this machine on which no program listens now.
///
/// Another may take it before the server does: who starts a server tries again.
pub(crate) fn free() -> Result<u16, ServerError> {
    loop {
        let port = FIRST + u16::from_ne_bytes(secret::bytes()?) % COUNT;
        if !is_taken(port) {
            return Ok(port);
        }
    }
}

/// Returns whether somebody listens on it.
pub(crate) fn is_taken(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_one_that_no_client_is_given() {
        let given = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
        let first: u16 = given.split_whitespace().next().unwrap().parse().unwrap();
        let port = free().unwrap();
        assert!((FIRST..FIRST + COUNT).contains(&port));
        assert!(FIRST + COUNT <= first);
    }
}
