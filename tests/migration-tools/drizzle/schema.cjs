// The application has no table of its own here.
