package cli

// BenchPlan says what bench measures, for tests that cannot wait for all of it.
var BenchPlan = &benchPlan

// ScalePlan says what bench --scale measures.
var ScalePlan = &scalePlan
