// Package hard draws small learning problems of all kinds, learns them as a user would, and judges
// what came out by numbers that share no code with package learn. All of it is a test:
//
//	go test -C lab ./hard                                     some problems of every kind
//	go test -C lab ./hard -run Suite -v -problems all         the suite of 480, in minutes
//	go test -C lab ./hard -run Suite -v -problems 12,40       single ones
//
// Draw makes problem i from the number i alone. Problem.Solve solves it by Levenberg–Marquardt
// steps with dense linear algebra: on weights and messages together where the counting numbers
// allow it, and on the weights alone, with exact second derivatives by linear response, everywhere
// else. Problem.Try learns by learn.Fit, and Problem.Judge says whether what that claims is true
// and whether it is all that could be had.
//
// Numbers of equations are those of docs/explanation/equations.md.
package hard
