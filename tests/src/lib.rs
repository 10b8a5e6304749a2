//! Real servers, conformance suites and end-to-end tests.
