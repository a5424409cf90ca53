// SPDX-License-Identifier: Apache-2.0
//! A comparison as comma-separated values.
use super::results::Results;
use anybinder_mount::error::Result;

const HEADINGS: &str =
    "peer,pairs,request_bytes,reply_bytes,round,calls,calls_per_s,min_us,avg_us,\
     p50_us,p99_us,max_us,user_us,system_us,daemon_us";

/// Prints a line for each round of each peer. A label given by the user cannot contain a comma that
/// is not quoted.
pub fn print(results: &Results) -> Result<()> {
    println!("{HEADINGS}");
    for (group, all) in &results.groups {
        for (peer, rounds) in results.peers.iter().zip(all) {
            let peer = match peer.contains([',', '"']) {
                true => format!("\"{}\"", peer.replace('"', "\"\"")),
                false => peer.clone(),
            };
            for (round, one) in &rounds.figures {
                println!(
                    "{peer},{},{},{},{round},{},{},{},{},{},{},{},{},{},{}",
                    group.pairs,
                    group.size.request_bytes,
                    group.size.reply_bytes,
                    one.calls,
                    one.calls_per_s,
                    one.min_us,
                    one.avg_us,
                    one.p50_us,
                    one.p99_us,
                    one.max_us,
                    one.user_us,
                    one.system_us,
                    one.daemon_us.map_or(String::new(), |us| us.to_string()),
                );
            }
        }
    }
    Ok(())
}
