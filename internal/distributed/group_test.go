package distributed

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestEverything in one process, with messages whole and in pieces.
func TestEverything(t *testing.T) {
	defer func(whole int) { largestMessage = whole }(largestMessage)
	hashes := map[string]bool{}
	for _, largest := range []int{largestMessage, 1000} {
		largestMessage = largest
		for ranks := 1; ranks <= 5; ranks++ {
			err := Local(ranks, Options{}, func(g *Group) error {
				hash, err := everything(g)
				if g.Rank() == 0 {
					hashes[hash] = true
				}
				return err
			})
			if err != nil {
				t.Errorf("%d ranks, messages of up to %d bytes: %v", ranks, largest, err)
			}
		}
	}
	if len(hashes) != 1 {
		t.Errorf("%d different results, want one", len(hashes))
	}
}

// TestStall: the message says who waits in what and for whom.
func TestStall(t *testing.T) {
	err := Local(3, Options{Stall: 50 * time.Millisecond}, func(g *Group) error {
		if g.Rank() == 2 {
			time.Sleep(300 * time.Millisecond)
			return nil
		}
		g.Agree([]float64{1})
		g.Any(false)
		return nil
	})
	if err == nil {
		t.Fatal("no error, though rank 2 never came")
	}
	for _, part := range []string{"rank 0 (process ", "ends the job: agree", "after 0.05", "nothing came from rank 2 (process "} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error has no %q:\n%v", part, err)
		}
	}
	if strings.Contains(err.Error(), "from rank 1") {
		t.Errorf("the error names rank 1, which came:\n%v", err)
	}
}

// TestAbort: all ranks end, those that wait too.
func TestAbort(t *testing.T) {
	err := Local(3, Options{}, func(g *Group) error {
		if g.Rank() == 1 {
			g.Abort("enough", 3)
		}
		g.Any(false)
		return fmt.Errorf("rank %d went on", g.Rank())
	})
	if err == nil || strings.Contains(err.Error(), "went on") || !strings.Contains(err.Error(), "ends the job: enough") {
		t.Errorf("the error is %v", err)
	}
}

// TestDetect: what launchers set, and what others set.
func TestDetect(t *testing.T) {
	for _, l := range launchers {
		t.Setenv(l.rank, "")
		t.Setenv(l.size, "")
	}
	t.Setenv("SLURM_PROCID", "0") // also in the script of a job, which is no rank
	t.Setenv("SLURM_NTASKS", "4")
	if launch, found := Detect(); found {
		t.Errorf("found %+v without a launcher", launch)
	}
	for _, c := range []struct {
		set  map[string]string
		want Launch
	}{
		{map[string]string{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "1"}, Launch{"Open MPI", 1, 4, "OMPI_COMM_WORLD_RANK"}},
		{map[string]string{"PMI_RANK": "2", "PMI_SIZE": "3", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "1"}, Launch{"MPICH", 2, 3, "PMI_RANK"}},
		{map[string]string{"MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "2"}, Launch{"MPICH", -1, -1, "MPI_LOCALRANKID"}},
		{map[string]string{"PMIX_RANK": "0", "SLURM_STEP_NUM_TASKS": "8"}, Launch{"PMIx", 0, 8, "PMIX_RANK"}},
		{map[string]string{"PMIX_RANK": "0"}, Launch{"PMIx", 0, -1, "PMIX_RANK"}},
	} {
		t.Run("", func(t *testing.T) {
			for name, value := range c.set {
				t.Setenv(name, value)
			}
			if launch, found := Detect(); !found || launch != c.want {
				t.Errorf("with %v: %+v, %v; want %+v", c.set, launch, found, c.want)
			}
		})
	}
}

func TestDisagree(t *testing.T) {
	launch := Launch{By: "MPICH", Rank: 2, Size: 4}
	if err := disagree(launch, "x", 4); err != nil {
		t.Error(err)
	}
	if err := disagree(launch, "x", 1); err == nil || !strings.Contains(err.Error(), "rank 2 of 4, but the library x sees 1") || !strings.Contains(err.Error(), Variable) {
		t.Errorf("the error is %v", err)
	}
	launch.Size = -1
	if err := disagree(launch, "x", 1); err != nil {
		t.Error(err)
	}
}
