package exact_test

import (
	"context"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/uai"
)

// shortOperations is the size up to which networks are run by go test -short.
const shortOperations = 5e7

func TestCompetitionNetworks(t *testing.T) {
	oracle.Long(t)
	text := oracle.Must(os.ReadFile(oracle.SharedData(t, "uai", "exact_logZ.tsv")))(t)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		t.Run(fields[0], func(t *testing.T) {
			want := oracle.Must(strconv.ParseFloat(fields[1], 64))(t)
			n := oracle.Must(uai.ReadFile(oracle.SharedData(t, "uai", fields[0]+".uai")))(t)
			plan := exact.NewPlan(n, math.Inf(1))
			if testing.Short() && plan.Operations > shortOperations {
				t.Skipf("skipped by -short: %.2g operations", plan.Operations)
			}
			answer := oracle.Must(plan.Run(context.Background(), false))(t)
			// The file has eight digits after the point.
			oracle.Near(t, answer.LogZ/math.Ln10, want, 1e-8*math.Abs(want)+5e-9, "log10 Z")
		})
	}
}
