// SPDX-License-Identifier: MIT

use quinn::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use std::sync::Arc;

pub const VERSION: &str = "noq 1.4.0";

pub fn named(name: &str) -> Option<Arc<dyn ControllerFactory + Send + Sync>> {
    match name {
        "cubic" => Some(Arc::new(CubicConfig::default())),
        "newreno" => Some(Arc::new(NewRenoConfig::default())),
        "bbr3" => Some(Arc::new(Bbr3Config::default())),
        _ => None,
    }
}
