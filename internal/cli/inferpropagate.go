package cli

// beyondOneRun is what was done beyond one run, as --json prints it.
type beyondOneRun struct {
	// Steps were made on the edge appearances.
	Steps int `json:"appearance_steps"`
	// Runs were made from random starts; of belief propagation besides the usual one.
	Runs int `json:"restarts"`
	// FixedPoints are the different values of log Z that they converged to,
	// descending.
	FixedPoints []float64 `json:"fixed_points,omitempty"`
}

// checkSearches refuses searches that the counting numbers have no use for.
func (f *inferFlags) checkSearches(changed func(string) bool) error {
	switch {
	case changed("appearance-steps") && f.appearanceSteps < 1:
		return usagef("--appearance-steps %d: want at least 1, or leave it out", f.appearanceSteps)
	case changed("restarts") && f.restarts < 1:
		return usagef("--restarts %d: want at least 1, or leave it out", f.restarts)
	case f.method == "exact":
		return nil // it uses none of them, which is said
	case f.appearanceSteps > 0 && f.counting != "trw":
		return usagef("--appearance-steps is used by --counting trw only")
	case f.method == methodMeanField:
		return nil // its optima are many whatever --counting says
	case f.restarts > 0 && (f.counting == "trw" || f.counting == "convex"):
		return usagef("--restarts is for --counting bethe or a file: with %s there is one fixed point only", f.counting)
	case changed("seed") && f.counting != "trw" && f.restarts == 0 && f.method == "bp":
		return usagef("--seed is used by --counting trw and --restarts only: with %s nothing is random", f.counting)
	}
	return nil
}
