//! Checks of the account.
