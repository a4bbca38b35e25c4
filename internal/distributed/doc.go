// Package distributed lets the processes of an MPI job work together with the same bits as one process.
//
// Detect says from the environment whether a launcher (mpirun, mpiexec, srun) started this
// process as a rank of a job. Join then loads the MPI library of that launcher at run time
// and returns the Group of ranks. Local makes a group of goroutines, for tests.
//
// All methods of a Group but Rank, Size and Abort are collective: every rank calls them in the same order. They return
// no errors of communication, since nothing can go on without the others: a failure ends the whole job with a message
// and a code that is not 0. So does a rank that waits for longer than it may; its message says for whom.
//
// Messages go from rank to rank by MPI_Isend and MPI_Irecv alone. So a rank knows whose
// message is missing, and the table of what differs between MPI libraries is short. Sums
// are in the order of a binary tree over parts, which does not know of ranks.
//
// Programs built with the tag static, or for systems other than Linux and macOS on amd64
// and arm64, load no libraries: Join then returns ErrNoLoading.
package distributed
