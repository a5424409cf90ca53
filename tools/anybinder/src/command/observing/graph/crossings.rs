// SPDX-License-Identifier: Apache-2.0
//! How many arrows of a picture cross each other.
type Point = (f64, f64);

/// Into so many straight pieces each curve is cut. Their number is odd: curves that mirror each
/// other cross in the middle of one, where ends of pieces would only touch.
const PIECES: u32 = 9;

/// The points of a path of the layout: a start, a curve with two controls, then smooth curves,
/// whose first control mirrors the last one of the curve before.
fn points(path: &str) -> Vec<Point> {
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-');
    let words = path.split(|c: char| !is_of_number(c));
    let numbers: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
    let given: Vec<Point> = numbers.chunks_exact(2).map(|xy| (xy[0], xy[1])).collect();
    let [start, control, rest @ ..] = given.as_slice() else {
        return Vec::new();
    };
    let (mut points, mut at, mut control) = (vec![*start], *start, *control);
    for pair in rest.chunks_exact(2) {
        let (second, end) = (pair[0], pair[1]);
        for piece in 1..=PIECES {
            let t = f64::from(piece) / f64::from(PIECES);
            let s = 1.0 - t;
            let weights = [s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t];
            let corners = [at, control, second, end];
            let sum = |of: fn(Point) -> f64| -> f64 {
                let parts = weights.iter().zip(corners);
                parts.map(|(weight, corner)| weight * of(corner)).sum()
            };
            points.push((sum(|one| one.0), sum(|one| one.1)));
        }
        (at, control) = (end, (2.0 * end.0 - second.0, 2.0 * end.1 - second.1));
    }
    points
}

/// Whether two straight lines cross, and do not only touch.
fn cross(one: &[Point], other: &[Point]) -> bool {
    let side = |a: Point, b: Point, c: Point| (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0);
    let parts = |a: &[Point], b: &[Point]| side(a[0], a[1], b[0]) * side(a[0], a[1], b[1]) < 0.0;
    parts(one, other) && parts(other, one)
}

/// The pairs of arrows that cross.
pub fn count(picture: &str) -> usize {
    let paths = picture.split("<path ").skip(1);
    let drawn = paths.filter_map(|path| path.split(" d=\"").nth(1)?.split('"').next());
    let arrows: Vec<Vec<Point>> = drawn.map(points).collect();
    let do_cross = |one: &[Point], other: &[Point]| {
        let pieces = |piece| other.windows(2).any(|second| cross(piece, second));
        one.windows(2).any(pieces)
    };
    let pairs = arrows.iter().enumerate();
    pairs
        .map(|(index, one)| {
            arrows[..index]
                .iter()
                .filter(|other| do_cross(one, other))
                .count()
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_that_cross_are_counted() {
        let path = |d: &str| format!("<path id=\"arrow\" d=\"{d}\" />");
        let falling = path("M 0 0 C 10 0, 20 100, 30 100");
        let rising = path("M 0 100 C 10 100, 20 0, 30 0");
        let apart = path("M 0 200 C 10 200, 20 200, 30 200 S 50 210, 60 210");
        assert_eq!(count(&[falling.as_str(), &apart].concat()), 0);
        assert_eq!(count(&[falling.as_str(), &apart, &rising].concat()), 1);
        // From one point.
        let fork = path("M 0 0 C 10 0, 20 -100, 30 -100");
        assert_eq!(count(&[falling, fork].concat()), 0);
    }
}
