//! The parts of an explanation: findings, losses, sentences, the verdict.

pub(crate) mod detail;
pub(crate) mod explanation;
pub(crate) mod finding;
pub(crate) mod fix;
pub(crate) mod framework;
pub(crate) mod gains;
pub(crate) mod loss;
pub(crate) mod place;
pub(crate) mod ranking;
pub(crate) mod refusal;
pub(crate) mod sentence;
pub(crate) mod settings;
pub(crate) mod side;
pub(crate) mod summary;
pub(crate) mod verdict;
