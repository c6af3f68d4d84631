// Package crashtest kills the real cairn, over and over, and looks for what was acknowledged (spec/guarantees §5.2).
//
// The test binary starts itself again as the server: the whole process with its store, engine, tools and surfaces. The
// parent drives it through the API with a model over HTTP, notes every acknowledgement after it came, and ends the
// child by SIGKILL: at a random moment, or at a named fault point. Then it starts another child on the same data, which
// may die as well. At the end nothing dies any more, everything must come to rest, and the parent compares: prompts
// acknowledged are there once and answered, tools had their effect at most once, and the store keeps its invariants.
//
// The package holds tests only; this file is its contract.
package crashtest
