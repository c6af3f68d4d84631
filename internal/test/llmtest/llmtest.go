// Package llmtest holds the checks that every protocol must pass: recorded traffic, complete and broken; requests of
// generated conversations; the contract of a stream for arbitrary bytes. Only tests import it.
package llmtest
