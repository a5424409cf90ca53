// SPDX-License-Identifier: Apache-2.0
//! Big parcels, full buffers, and buffers that are reused.
use super::cases;
use crate::fixture::{counts_to, holds, same, Fixture, Verdict};
use rsbinder::StatusCode;

cases![
    parcels_of_every_size,
    half_a_mebibyte_goes_both_ways,
    too_big_a_parcel_fails_and_harms_nothing,
    too_big_a_reply_fails_and_harms_nothing,
    buffers_are_used_again,
    one_way_calls_may_not_fill_the_buffer,
];

fn pattern(size: usize) -> Vec<u8> {
    (0..size)
        .map(|index| (index * 31 + index / 251) as u8)
        .collect()
}

fn parcels_of_every_size(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let around = |size: usize| size.saturating_sub(1)..=size + 1;
    let sizes = [0, 64, 4096, 8192, 16384, 65536]
        .into_iter()
        .flat_map(around);
    for size in sizes {
        let mut data = pattern(size);
        let back = peer.reverse(&data)?;
        data.reverse();
        same("bytes", back, data)?;
    }
    Ok(())
}

fn half_a_mebibyte_goes_both_ways(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    for _ in 0..5 {
        let mut data = pattern(500 * 1024);
        let back = peer.reverse(&data)?;
        data.reverse();
        same("bytes", back, data)?;
    }
    Ok(())
}

fn too_big_a_parcel_fails_and_harms_nothing(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    for _ in 0..3 {
        let got = peer
            .reverse(&vec![0; 2 << 20])
            .map_err(|status| status.transaction_error());
        same("status", got.err(), Some(StatusCode::FailedTransaction))?;
        same("the next call", peer.add(1, 2)?, 3)?;
    }
    Ok(())
}

fn too_big_a_reply_fails_and_harms_nothing(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    for _ in 0..3 {
        let got = peer.fill(2 << 20, 1).map(|bytes| bytes.len());
        holds("the call fails", got.is_err())?;
        same("the next call", peer.fill(300_000, 2)?.len(), 300_000)?;
    }
    Ok(())
}

fn buffers_are_used_again(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let mut size: usize = 1;
    for round in 0..1500 {
        // A sequence of many sizes that does not repeat soon.
        size = (size * 7919 + 104_729) % 40_000;
        let back = peer.fill(size as i32, round as i8)?;
        holds(
            "every byte is right",
            back.len() == size && back.iter().all(|b| *b == round as u8),
        )?;
    }
    Ok(())
}

fn one_way_calls_may_not_fill_the_buffer(fixture: &Fixture) -> Verdict {
    let service = fixture.service()?;
    let peer = service.peer()?;
    peer.postAtGate(-1)?;
    // The calls queue up behind that one until the space for one-way calls is used.
    let (mut posted, mut refused) = (0, false);
    while posted < 200_000 && !refused {
        match peer.post(posted) {
            Ok(()) => posted += 1,
            Err(status) => {
                same(
                    "status",
                    status.transaction_error(),
                    StatusCode::FailedTransaction,
                )?;
                refused = true;
            }
        }
    }
    holds("one-way calls are refused at some point", refused)?;
    same("a call with reply still fits", peer.add(2, 2)?, 4)?;
    peer.openGate()?;
    let arrived = counts_to(posted as usize + 1, || {
        peer.posted().map(|all| all.len()).unwrap_or(0)
    });
    same("arrived", arrived, posted as usize + 1)?;
    Ok(peer.post(1)?)
}
