package cli

// BenchPlan says what bench measures, for tests that cannot wait for all of it.
var BenchPlan = &benchPlan

// BenchBinary is the build that bench --against measures as its own.
var BenchBinary = &benchBinary

// ScalePlan says what bench --scale measures.
var ScalePlan = &scalePlan
