//! Quantiles of Student's t distribution.

/// The quantile of the normal distribution for an interval of 95 %.
const NORMAL: f64 = 1.959963984540054;

/// The quantiles for 1 to 10 degrees of freedom, from the table in the NIST/SEMATECH handbook, section 1.3.6.7.2, with the
/// digits that it omits computed from the distribution.
const FEW: [f64; 10] =
    [12.70620, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600, 2.26216, 2.22814];

/// How many standard errors an interval of 95 % extends to each side; infinite without a degree of freedom.
pub fn quantile_95(degrees: usize) -> f64 {
    match degrees {
        0 => f64::INFINITY,
        1..=10 => FEW[degrees - 1],
        _ => {
            // Cornish and Fisher's expansion (Abramowitz and Stegun, 26.7.5): its error is below 0.0002 here.
            let (z, v) = (NORMAL, degrees as f64);
            let terms = [
                (z.powi(3) + z) / 4.0,
                (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
                (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
            ];
            z + terms[0] / v + terms[1] / v.powi(2) + terms[2] / v.powi(3)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_handbook() {
        let table =
            [(1, 12.706), (5, 2.571), (10, 2.228), (11, 2.201), (15, 2.131), (30, 2.042), (100, 1.984)];
        for (degrees, expected) in table {
            assert!((quantile_95(degrees) - expected).abs() < 0.0006, "{degrees}: {}", quantile_95(degrees));
        }
    }

    #[test]
    fn more_degrees_make_it_narrower() {
        assert!((0..200).all(|degrees| quantile_95(degrees) > quantile_95(degrees + 1)));
    }
}
