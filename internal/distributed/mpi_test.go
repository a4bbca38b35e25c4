//go:build (linux || darwin) && (amd64 || arm64) && !static

package distributed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
)

// launchersVariable adds paths of mpirun to those that tests find, as PATH lists folders.
const launchersVariable = "BLOCKBP_TEST_MPIRUN"

// launcher is an mpirun.
type launcher struct{ path, version string }

// mpiruns finds launchers: each installation once.
func mpiruns(t testing.TB) []launcher {
	t.Helper()
	names := []string{"mpirun.openmpi", "mpirun.mpich", "mpirun"}
	names = append(filepath.SplitList(os.Getenv(launchersVariable)), names...)
	var found []launcher
	seen := map[string]bool{}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil || seen[real] {
			continue
		}
		seen[real] = true
		version, err := exec.Command(path, "--version").Output()
		if err != nil {
			t.Fatalf("%s --version: %v", path, err)
		}
		found = append(found, launcher{path, string(version)})
	}
	if len(found) == 0 {
		t.Skip("skipped: no mpirun is here; the test runs after apt-get install openmpi-bin mpich, as .ci/run does")
	}
	return found
}

func (l launcher) open() bool {
	return strings.Contains(l.version, "Open MPI") || strings.Contains(l.version, "OpenRTE")
}

// name is that of a test under it.
func (l launcher) name() string {
	return strings.Trim(regexp.MustCompile(`[^\w.]+`).ReplaceAllString(l.path, "-"), "-")
}

// everyLauncher runs a test under each mpirun.
func everyLauncher(t *testing.T, test func(t *testing.T, l launcher)) {
	for _, l := range mpiruns(t) {
		t.Run(l.name(), func(t *testing.T) { test(t, l) })
	}
}

// job is one that was started.
type job struct {
	*exec.Cmd
	output  lines
	started time.Time
	cancel  context.CancelFunc
}

// jobPatience ends a job that does not.
const jobPatience = 60 * time.Second

// start lets some ranks of the test binary do something.
func (l launcher) start(t testing.TB, ranks int, what ...string) *job {
	t.Helper()
	binary := oracle.Must(os.Executable())(t)
	arguments := append([]string{"--bind-to", "none", "-np", strconv.Itoa(ranks), binary, "rank"}, what...)
	return startJob(t, l.path, arguments...)
}

func startJob(t testing.TB, path string, arguments ...string) *job {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), jobPatience)
	t.Cleanup(cancel)
	j := &job{Cmd: exec.CommandContext(ctx, path, arguments...), started: time.Now(), cancel: cancel}
	// Of Open MPI 4 and 5: root may start jobs here, and ranks may be more than cores.
	j.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"OMPI_MCA_rmaps_base_oversubscribe=1", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe")
	j.Stdout, j.Stderr = &j.output, &j.output
	j.WaitDelay = time.Second
	oracle.OK(t, j.Start())
	return j
}

// wait returns the output and the code of a job, and how long it took since an event.
func (j *job) wait(t testing.TB) (output string, code int) {
	t.Helper()
	err := j.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, j.output.String())
	}
	return j.output.String(), j.ProcessState.ExitCode()
}

func (j *job) mustSucceed(t testing.TB) string {
	t.Helper()
	output, code := j.wait(t)
	oracle.MustEqual(t, code, 0, "after %v, with the output\n%s\nexit code", time.Since(j.started), output)
	return output
}

// TestMPI: the same results for each launcher and number of ranks as for one process.
func TestMPI(t *testing.T) {
	oracle.Long(t)
	want := ""
	oracle.OK(t, Local(1, 0, func(g *Group) (err error) { want, err = everything(g); return err }))
	everyLauncher(t, func(t *testing.T, l launcher) {
		for ranks := 1; ranks <= 4; ranks++ {
			output := l.start(t, ranks, "check").mustSucceed(t)
			if line := fmt.Sprintf("hash %s of %d\n", want, ranks); strings.Count(output, line) != ranks {
				t.Errorf("%d ranks did not print %q:\n%s", ranks, line, output)
			}
			if ranks == 1 {
				t.Log(strings.SplitN(output, "\n", 2)[0])
			}
		}
	})
}

// TestPanicsAreOurs: libraries leave the handlers of signals alone.
func TestPanicsAreOurs(t *testing.T) {
	everyLauncher(t, func(t *testing.T, l launcher) {
		if output := l.start(t, 2, "recover").mustSucceed(t); strings.Count(output, "recovered") != 2 {
			t.Errorf("two ranks did not recover:\n%s", output)
		}
	})
}

// TestLateToLeave: a rank does not wait for ever in MPI_Finalize, and says why it ends.
func TestLateToLeave(t *testing.T) {
	oracle.Long(t)
	everyLauncher(t, func(t *testing.T, l launcher) {
		output, code := l.start(t, 2, "late").wait(t)
		if want := "does not return after 100ms: all is done"; code == 0 || !strings.Contains(output, want) {
			t.Errorf("code %d, want another than 0 and %q:\n%s", code, want, output)
		}
	})
}

// TestAloneAtTheEnd: others wait for a rank that works alone before it leaves, longer than they wait for anything else.
func TestAloneAtTheEnd(t *testing.T) {
	oracle.Long(t)
	everyLauncher(t, func(t *testing.T, l launcher) {
		oracle.Contains(t, l.start(t, 2, "alone", "500").mustSucceed(t), "written")
	})
}

// TestFarewell: what the launcher may answer.
func TestFarewell(t *testing.T) {
	for answer, want := range map[string]string{
		"cmd=finalize_ack\n":                    "",
		"cmd=finalize_ack rc=0\n":               "",
		"cmd=barrier_out\n":                     `it says "cmd=barrier_out\n"`,
		"":                                      "unexpected EOF",
		"    29cmd=finalize-response;rc=0;thrd": "unexpected EOF",
	} {
		ends := oracle.Must(syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0))(t)
		oracle.Must(syscall.Write(ends[1], []byte(answer)))(t)
		oracle.OK(t, syscall.Shutdown(ends[1], syscall.SHUT_WR))
		got := ""
		if err := tell(ends[0]); err != nil {
			got = err.Error()
		}
		oracle.Equal(t, got, want, "after %q the error", answer)
		said := make([]byte, 64)
		if n, err := syscall.Read(ends[1], said); err != nil || string(said[:n]) != "cmd=finalize\n" {
			t.Errorf("the launcher reads %q (%v)", said[:n], err)
		}
		syscall.Close(ends[0])
		syscall.Close(ends[1])
	}
}

// TestMayHang: the versions of MPICH that wait for ever, as they name themselves.
func TestMayHang(t *testing.T) {
	for version, want := range map[string]bool{
		"MPICH Version:      4.0.2\nMPICH Release date: x\nMPICH Device:       ch4:ucx\n":  true,
		"MPICH Version:      4.1.2\nMPICH Device:       ch4:ucx\n":                         true,
		"MPICH Version:      3.4.1\nMPICH Device:       ch4:ucx\n":                         true,
		"MPICH Version:      4.2.0\nMPICH Device:       ch4:ucx\n":                         false,
		"MPICH Version:      5.0.1\nMPICH Device:       ch4:ucx\n":                         false,
		"MPICH Version:      4.0.2\nMPICH Device:       ch4:ofi\n":                         false,
		"MPICH Version:      4.0.2\nMPICH Device:       ch3:nemesis\n":                     false,
		"Intel(R) MPI Library 2021.10 for Linux* OS\n":                                     false,
		"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, a date": false,
	} {
		oracle.Equal(t, mayHang(version), want, "%q may hang", version)
	}
}

// TestFailuresEndTheJob: soon, with the message of who failed.
func TestFailuresEndTheJob(t *testing.T) {
	oracle.Long(t)
	const stall = time.Second
	everyLauncher(t, func(t *testing.T, l launcher) {
		for how, c := range map[string]struct {
			within time.Duration
			says   string
		}{
			"panic": {2 * time.Second, "rank 1 has a mistake"},
			"exit":  {2 * time.Second, ""},
			"abort": {2 * time.Second, "ends the job: rank 1 has had enough"},
			"kill":  {2 * time.Second, ""},
			"stop":  {stall + 3*time.Second, `rank [02] \(process \d+ on \S+\) ends the job: \w+, call \d+: after 1[.0-9]* s nothing (came from|was taken by) rank 1 `},
			"hang":  {stall + 3*time.Second, `rank [02] \(process \d+ on \S+\) ends the job: \w+, call \d+: after 1[.0-9]* s nothing (came from|was taken by) rank 1 `},
			"other": {stall + 3*time.Second, `ends the job: gather, call \d+: after 1[.0-9]* s nothing came from rank 0 .*, rank 2 `},
		} {
			t.Run(how, func(t *testing.T) {
				// On a busy machine an end may be late, but not each time.
				const tries = 3
				var took []time.Duration
				for len(took) == 0 || slices.Min(took) > c.within && len(took) < tries {
					j := l.start(t, 3, how, strconv.Itoa(int(stall.Milliseconds())))
					began := j.output.when(t, "now "+how)
					output, code := j.wait(t)
					took = append(took, time.Since(began).Round(10*time.Millisecond))
					if code == 0 || how == "abort" && code != 3 || !regexp.MustCompile(c.says).MatchString(output) {
						t.Errorf("code %d, want another than 0, 3 of abort, and %q:\n%s", code, c.says, output)
					}
					noneLeft(t, output)
				}
				if slices.Min(took) > c.within {
					t.Errorf("the job took %v to end, want %v", took, c.within)
				}
				t.Logf("ended after %v", took)
			})
		}
	})
}

// noneLeft checks that the processes of ranks are gone.
func noneLeft(t *testing.T, output string) {
	t.Helper()
	for _, found := range regexp.MustCompile(`rank \d+ process (\d+)\n`).FindAllStringSubmatch(output, -1) {
		process := oracle.Must(strconv.Atoi(found[1]))(t)
		const patience = 10 * time.Second // init may be slow to bury them
		for begin := time.Now(); syscall.Kill(process, 0) == nil; time.Sleep(10 * time.Millisecond) {
			if time.Since(begin) > patience {
				t.Errorf("process %d of a rank is left", process)
				break
			}
		}
	}
}

// TestLibraryOfAnother: each rank would be alone, and says why it is not.
func TestLibraryOfAnother(t *testing.T) {
	oracle.Long(t)
	libraries := map[bool]string{true: "libmpich.so.12", false: "libmpi.so.40"}
	everyLauncher(t, func(t *testing.T, l launcher) {
		t.Setenv(Variable, libraries[l.open()])
		output, code := l.start(t, 2, "check").wait(t)
		if strings.Contains(output, ErrNoLibrary.Error()) {
			t.Skip("skipped: the library of another MPI, which the launcher is to meet, is not here; the test runs where Open MPI and MPICH are")
		}
		if code == 0 || !strings.Contains(output, "are of different installations") {
			t.Errorf("code %d, want another than 0 and what is wrong:\n%s", code, output)
		}
	})
}

// TestNoLibrary: the error says what was tried, and what to install.
func TestNoLibrary(t *testing.T) {
	t.Setenv(Variable, "/nowhere/libmpi.so")
	_, err := Join(Launch{By: "MPICH", Rank: 0, Size: 2}, 0)
	if !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), "/nowhere/libmpi.so") {
		t.Errorf("the error is %v", err)
	}
	if runtime.GOOS == "linux" {
		t.Setenv(Variable, "libc.so.6")
		if _, err := Join(Launch{By: "MPICH", Rank: 0, Size: 2}, 0); !errors.Is(err, ErrNoLibrary) ||
			!strings.Contains(err.Error(), "libc.so.6 has no MPI_Init_thread") {
			t.Errorf("the error is %v", err)
		}
	}
}
