//go:build (amd64 || arm64) && !static

package distributed

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
)

// remoteShell stands for ssh: hosts are network namespaces, and their names the addresses
// 10.77.0.N of PREFIXN. Each has a name of its own, since launchers tell hosts apart by it.
const remoteShell = `#!/bin/sh
while :; do case $1 in
  -l | -o | -p) shift 2 ;;
  -*) shift ;;
  *) break ;;
esac; done
host=PREFIX${1##*.}; shift
exec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"
`

// namespaces makes two network namespaces with a link between them.
func namespaces(t testing.TB) (prefix, shell string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("skipped: only root can make network namespaces; the test runs as root, as in .ci/run")
	}
	prefix = fmt.Sprintf("blockbp%dx", os.Getpid())
	first, second := prefix+"1", prefix+"2"
	for _, command := range []string{
		"ip netns add " + first,
		"ip netns add " + second,
		"ip link add link1 netns " + first + " type veth peer name link2 netns " + second,
		"ip -n " + first + " addr add 10.77.0.1/24 dev link1",
		"ip -n " + second + " addr add 10.77.0.2/24 dev link2",
		"ip -n " + first + " link set link1 up", "ip -n " + second + " link set link2 up",
		"ip -n " + first + " link set lo up", "ip -n " + second + " link set lo up",
	} {
		words := strings.Fields(command)
		if output, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Skipf("no network namespaces can be had here: %s: %v %s", command, err, output)
		}
		if words[1] == "netns" {
			t.Cleanup(func() {
				if output, err := exec.Command("ip", "netns", "delete", words[3]).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, output)
				}
			})
		}
	}
	waitForLink(t, first, second)
	shell = filepath.Join(t.TempDir(), "shell")
	oracle.OK(t, os.WriteFile(shell, []byte(strings.ReplaceAll(remoteShell, "PREFIX", prefix)), 0o700))
	return prefix, shell
}

// waitForLink returns when both ends are up: libraries look for networks once.
func waitForLink(t testing.TB, hosts ...string) {
	t.Helper()
	const patience = 10 * time.Second
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		up := 0
		for _, host := range hosts {
			output := oracle.Must(exec.Command("ip", "-n", host, "link", "show", "type", "veth").Output())(t)
			up += strings.Count(string(output), "state UP")
		}
		if up == len(hosts) {
			return
		}
		if time.Since(begin) > patience {
			t.Fatal("the link between network namespaces does not come up")
		}
	}
}

// across starts a rank in each of two namespaces, which talk by TCP.
func (l launcher) across(t testing.TB, prefix, shell string, what ...string) *job {
	t.Helper()
	binary := oracle.Must(os.Executable())(t)
	// The launcher is in the first namespace, by the name that it has for the others.
	arguments := []string{"netns", "exec", prefix + "1", "unshare", "--uts", "sh", "-c", `hostname "$0"; exec "$@"`, prefix + "1", l.path}
	switch {
	case l.open() && strings.Contains(l.version, " 4."):
		arguments = append(arguments, "--mca", "plm_rsh_agent", shell, "--mca", "plm_rsh_no_tree_spawn", "1",
			"--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "10.77.0.0/24", "--mca", "oob_tcp_if_include", "10.77.0.0/24",
			"--host", "10.77.0.1,10.77.0.2")
	case l.open():
		t.Skip("skipped: the launcher is no MPICH and no Open MPI 4, whose options for two hosts these are; the test runs with those")
	default:
		t.Setenv("UCX_TLS", "tcp,self")
		t.Setenv("FI_PROVIDER", "tcp")
		arguments = append(arguments, "-launcher", "rsh", "-launcher-exec", shell, "-hosts", "10.77.0.1,10.77.0.2")
	}
	arguments = append(arguments, "--bind-to", "none", "-np", "2", binary, "rank")
	return startJob(t, "ip", append(arguments, what...)...)
}

// TestNamespaces: two ranks on two hosts, as far as they can see, have the results of one, and jobs end, also where a
// library may wait for ever in MPI_Finalize; that of MPICH 4.0.2 did so in 4 to 23 of 100 jobs.
func TestNamespaces(t *testing.T) {
	oracle.Long(t)
	const jobs = 20
	want := ""
	oracle.OK(t, Local(1, 0, func(g *Group) (err error) { want, err = everything(g); return err }))
	everyLauncher(t, func(t *testing.T, l launcher) {
		prefix, shell := namespaces(t)
		for range jobs {
			output := l.across(t, prefix, shell, "check").mustSucceed(t)
			if line := fmt.Sprintf("hash %s of 2\n", want); strings.Count(output, line) != 2 {
				t.Fatalf("2 ranks did not print %q:\n%s", line, output)
			}
		}
	})
}
