package cli

import (
	"testing"

	"github.com/spf13/pflag"
)

// TestTrainGroups: the help of train has every option in exactly one group.
func TestTrainGroups(t *testing.T) {
	groupOf := map[string]string{}
	for _, g := range trainGroups {
		for _, name := range g.names {
			if other, twice := groupOf[name]; twice {
				t.Errorf("--%s is in the groups %q and %q", name, other, g.title)
			}
			groupOf[name] = g.title
		}
	}
	cmd := (&app{}).trainCommand()
	cmd.InitDefaultHelpFlag()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if groupOf[f.Name] == "" {
			t.Errorf("--%s of train is in no group of helpgroups.go", f.Name)
		}
		delete(groupOf, f.Name)
	})
	for name, title := range groupOf {
		t.Errorf("train has no option --%s, which group %q lists", name, title)
	}
}
