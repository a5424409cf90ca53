// SPDX-License-Identifier: Apache-2.0
//! The stages of a round trip as a picture: a bar for each step, beginning where the last one ends.
use super::stages::Step;
use plotters::prelude::*;
use std::error::Error;
use std::path::Path;

const WIDTH: u32 = 860;
const ROW: u32 = 26;
const TOP: u32 = 44;
const LEFT: u32 = 170;
const RIGHT: u32 = 110;

/// Client, server, or the driver between them.
fn colour(name: &str) -> RGBColor {
    let (from, to) = name.split_once(" to ").unwrap_or((name, name));
    match (from.as_bytes()[0], to.as_bytes()[0]) {
        (b'K', b'K') => RGBColor(42, 111, 219),
        (b'S', _) | (_, b'S') => RGBColor(122, 158, 126),
        _ => RGBColor(217, 130, 43),
    }
}

pub fn draw(path: &Path, steps: &[Step]) -> Result<(), Box<dyn Error>> {
    let total_us: f64 = steps.iter().map(|step| step.p50_us).sum();
    let height = TOP + ROW * steps.len() as u32 + 20;
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
    root.present()?;
    Ok(())
}
