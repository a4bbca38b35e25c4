// Package infer answers questions about a network (package mrf), and about a model
// (package crf) that is given new data.
//
// Of a network, given the states of some variables: LogPartition bounds or computes the log-partition function,
// Marginals the probabilities of the states of every variable, MostProbable a joint state, and Sample draws joint
// states. The zero Options infer exactly where that is cheap, and else by convex belief propagation; others by Gibbs
// sampling. Every answer says what it is: exact, an upper bound or an approximation, and whether it converged.
//
// Of a model: a Predictor gives beliefs and labels of instances, and says how probable
// known labels are; a Score compares labels with the truth.
package infer
