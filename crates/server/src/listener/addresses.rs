//! How many connections one address has.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The part of an address of IPv6 that its holder cannot change at will.
const NETWORK: u128 = !(u64::MAX as u128);

/// Connections by the address that they come from.
#[derive(Debug)]
pub(super) struct Addresses {
    /// The most of one address; 0 is as many as come.
    max: usize,
    taken: Mutex<HashMap<IpAddr, usize>>,
}

/// A connection of an address, for as long as it lasts.
#[derive(Debug)]
pub(super) struct AddressPlace {
    addresses: Arc<Addresses>,
    address: IpAddr,
}

impl Addresses {
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, taken: Mutex::default() })
    }

    /// A place for one more of an address; none if it has as many as it may have.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Option<AddressPlace> {
        let address = holder(address);
        let mut taken = self.taken();
        let of_address = taken.entry(address).or_default();
        // Whoever is refused has others, so that nothing was inserted.
        if self.max > 0 && *of_address >= self.max {
            return None;
        }
        *of_address += 1;
        drop(taken);
        Some(AddressPlace { addresses: Arc::clone(self), address })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AddressPlace {
    fn drop(&mut self) {
        let mut taken = self.addresses.taken();
        if let Some(of_address) = taken.get_mut(&self.address) {
            *of_address -= 1;
            if *of_address == 0 {
                taken.remove(&self.address);
            }
        }
    }
}

/// What stands for whoever has an address: all of a network of IPv6 is one's own, and an address of IPv4 may be written as one of IPv6.
fn holder(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_so_many_connections_however_it_is_written() {
        let addresses = Addresses::new(2);
        let take = |address: &str| addresses.take(address.parse().unwrap());
        let held = [take("192.0.2.1").unwrap(), take("::ffff:192.0.2.1").unwrap()];
        assert!(take("192.0.2.1").is_none());
        let others = [take("192.0.2.2"), take("2001:db8::1"), take("2001:db8::2")];
        assert!(others.iter().all(Option::is_some));
        assert!(take("2001:db8::ffff:0:0:1").is_none(), "the same network");
        assert!(take("2001:db8:0:1::1").is_some(), "another one");
        drop(held);
        assert!(take("192.0.2.1").is_some(), "a place is free again");
        drop(others);
        assert!(addresses.taken().is_empty());
    }

    #[test]
    fn without_a_limit_there_is_none() {
        let addresses = Addresses::new(0);
        let held: Vec<_> = (0..100).map(|_| addresses.take(IpAddr::from([127, 0, 0, 1]))).collect();
        assert!(held.iter().all(Option::is_some));
    }
}
