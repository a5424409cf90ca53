// SPDX-License-Identifier: Apache-2.0
//! A picture of a round trip: a bar for each step, which begins where the one before ends.
use super::round_trips::Step;
use crate::chart::Outcome;
use plotters::prelude::*;
use std::path::Path;

const WIDTH: u32 = 860;
const ROW: u32 = 26;
const TOP: u32 = 44;
const LEFT: u32 = 170;
const RIGHT: u32 = 110;

const DRIVER: RGBColor = RGBColor(42, 111, 219);
const SERVER: RGBColor = RGBColor(122, 158, 126);
const CLIENT: RGBColor = RGBColor(217, 130, 43);
const LEGEND: [(&str, RGBColor); 3] = [
    ("inside the driver", DRIVER),
    ("client, and between it and the driver", CLIENT),
    ("server, and between it and the driver", SERVER),
];
const LEGEND_STEP: i32 = 225;

/// By what is at work in a step: client, server, or the driver between them.
fn colour(name: &str) -> RGBColor {
    let (from, to) = name.split_once(" to ").unwrap_or((name, name));
    match (from.as_bytes()[0], to.as_bytes()[0]) {
        (b'K', b'K') => DRIVER,
        (b'S', _) | (_, b'S') => SERVER,
        _ => CLIENT,
    }
}

/// Draws the steps at `path`.
pub fn draw(path: &Path, steps: &[Step]) -> Outcome {
    let total_us: f64 = steps.iter().map(|step| step.p50_us).sum();
    let height = TOP + ROW * steps.len() as u32 + 36;
    let root = SVGBackend::new(path, (WIDTH, height)).into_drawing_area();
    root.fill(&WHITE)?;
    let title = format!("a round trip of {total_us:.1} us, step by step (medians)");
    root.draw(&Text::new(title, (LEFT as i32, 14), ("sans-serif", 15)))?;
    let scale = f64::from(WIDTH - LEFT - RIGHT) / total_us.max(f64::MIN_POSITIVE);
    let mut begin_us = 0.0;
    for (number, step) in steps.iter().enumerate() {
        let top = (TOP + ROW * number as u32) as i32;
        let left = LEFT as i32 + (begin_us * scale) as i32;
        begin_us += step.p50_us;
        let right = (LEFT as i32 + (begin_us * scale) as i32).max(left + 1);
        let bar = [(left, top), (right, top + ROW as i32 - 6)];
        root.draw(&Rectangle::new(bar, colour(&step.name).filled()))?;
        let words = format!("{:.2} us, {:.1} %", step.p50_us, step.share * 100.0);
        root.draw(&Text::new(words, (right + 5, top + 3), ("sans-serif", 12)))?;
        root.draw(&Text::new(
            step.name.clone(),
            (10, top + 3),
            ("sans-serif", 12),
        ))?;
    }
    let bottom = height as i32 - 26;
    for (number, (words, colour)) in LEGEND.iter().enumerate() {
        let left = LEFT as i32 + LEGEND_STEP * number as i32;
        let sample = [(left, bottom), (left + 12, bottom + 12)];
        root.draw(&Rectangle::new(sample, colour.filled()))?;
        root.draw(&Text::new(*words, (left + 18, bottom), ("sans-serif", 12)))?;
    }
    root.present()?;
    Ok(())
}
