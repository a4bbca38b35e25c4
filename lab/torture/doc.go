// Package torture attacks the built command from outside, as a user's disk, colleague or bad luck
// would: its tests kill and interrupt commands, fill disks, flip bits and start two at once, and
// hold what comes out against what has to. All is in tests, for Linux:
//
//	go test -C lab ./torture                                      a few trials of every attack
//	go test -C lab ./torture -full -timeout 3h                    all of them
//	go test -C lab ./torture -full -seed 7 -run 'Flips/^37$'      one again
//
// Every trial draws from a source of its own, made of the seed, the attack and the number of the
// trial; moments of time alone are not repeatable. With -artifacts the files of trials stay. Files
// of every format, mutated, are a fuzz target, and how time grows with what a file chooses is a
// test.
package torture
