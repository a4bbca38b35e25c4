package cli

// LineEvery is the time between lines of progress, for tests that do not wait as
// long as people do.
var LineEvery = &lineEvery
