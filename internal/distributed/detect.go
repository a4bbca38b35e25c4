package distributed

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
)

// Variable is the environment variable that names the MPI library to load.
const Variable = "BLOCKBP_MPI"

// Launch is what a launcher told this process in its environment.
type Launch struct {
	By         string // "Open MPI", "MPICH" or "PMIx", each with what is compatible to it
	Rank, Size int    // of the job; -1 where the environment does not say
	Variable   string // of the environment, that says so
}

// launchers are the variables by which launchers tell rank and size. Open MPI sets those of
// PMIx too. Slurm's own variables are no sign: it sets them in scripts that are no rank.
var launchers = []struct{ by, rank, size string }{
	{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"MPICH", "PMI_RANK", "PMI_SIZE"},
	{"MPICH", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
	{"PMIx", "PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
}

// Detect reports whether this process is a rank of a job, from the environment alone.
func Detect() (launch Launch, found bool) {
	for _, l := range launchers {
		if os.Getenv(l.rank) == "" {
			continue
		}
		launch = Launch{By: l.by, Rank: number(l.rank), Size: number(l.size), Variable: l.rank}
		if l.rank == "MPI_LOCALRANKID" {
			launch.Rank, launch.Size = -1, -1 // these count on one machine only
		}
		return launch, true
	}
	return Launch{}, false
}

// number is the value of a variable, or -1.
func number(variable string) int {
	n, err := strconv.Atoi(os.Getenv(variable))
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// ErrNoLibrary says that no MPI library can be loaded, and how to get one.
var ErrNoLibrary = errors.New("no MPI library can be loaded; install that of the launcher " +
	"(Debian, Ubuntu: apt-get install openmpi-bin libopenmpi3, or mpich; macOS: brew install open-mpi), " +
	"or name its file in " + Variable)

// ErrNoLoading is that of a build that loads no libraries at all.
var ErrNoLoading = errors.New("this build of blockbp loads no libraries, and MPI is one; on Linux or macOS build a " +
	"command that does (go install github.com/blockbp/blockbp/cmd/blockbp@latest)")

// The files of libraries. Open MPI 4 and 5 have one name, MPICH 3 to 5 and all that is
// compatible to it another two, and the standard interface of MPI 5 a third.
var (
	openMPIFiles  = []string{"libmpi.so.40"}
	mpichFiles    = []string{"libmpich.so.12", "libmpi.so.12"}
	standardFiles = []string{"libmpi_abi.so.1", "libmpi_abi.so.0"}
)

// candidates returns the files to try, in this order: what the variable names alone, or else for each name that fits
// the launcher the file in its own installation, and then what the system finds under it. A library that does not
// belong to the launcher would see a job of one rank.
func candidates(launch Launch) []string {
	if named := os.Getenv(Variable); named != "" {
		return []string{named}
	}
	files := slices.Concat(standardFiles, mpichFiles, openMPIFiles)
	if launch.By != "MPICH" {
		files = slices.Concat(openMPIFiles, standardFiles, mpichFiles)
	}
	if runtime.GOOS == "darwin" {
		files = []string{"libmpi.40.dylib", "libmpi_abi.1.dylib", "libmpi.12.dylib", "libmpi.dylib"}
	}
	var found []string
	for _, folder := range installations() {
		for _, file := range files {
			name := filepath.Join(folder, file)
			if _, err := os.Stat(name); err == nil {
				found = append(found, name)
			}
		}
	}
	return append(found, files...)
}

// installations returns the folders of libraries that belong to the launcher: beside the
// program that started this one, or beside the mpirun on the path.
func installations() []string {
	parent, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", os.Getppid())) // Linux only
	onPath, err := exec.LookPath("mpirun")
	if err == nil {
		onPath, _ = filepath.EvalSymlinks(onPath)
	}
	var folders []string
	for _, program := range []string{parent, onPath} {
		if prefix := filepath.Dir(filepath.Dir(program)); program != "" {
			folders = append(folders, filepath.Join(prefix, "lib"), filepath.Join(prefix, "lib64"))
		}
	}
	if runtime.GOOS == "darwin" {
		folders = append(folders, "/opt/homebrew/lib", "/usr/local/lib")
	}
	return folders
}

// disagree returns the error for a library that sees another job than the launcher
// started, which happens where the two are of different installations.
func disagree(launch Launch, library string, size int) error {
	if launch.Size < 0 || launch.Size == size {
		return nil
	}
	return fmt.Errorf("%s started this process as rank %d of %d, but the library %s sees %d: "+
		"launcher and library are of different installations; start the job with the launcher of the library, "+
		"or name the file of the launcher's library in %s",
		cmp.Or(launch.By, "a launcher"), launch.Rank, launch.Size, library, size, Variable)
}
