// Package report writes pages and tables for people. A Report collects text, tables and
// figures into one HTML file that needs no network, no other file and no script. A Table
// is aligned text for a terminal.
package report
