// Package crashtest kills the real cairn repeatedly and checks that everything acknowledged is present.
//
// The test binary starts itself as the server: the whole process with its store, engine, tools and surfaces. The parent
// drives it through the API with a model over HTTP, records every acknowledgement, and ends the child by SIGKILL at a
// random moment or at a named fault point. Then it starts another child on the same data, which may be killed as well.
// At the end a child runs undisturbed until all work is done, and the parent checks: acknowledged prompts exist once
// and are answered, tools had their effect at most once, and the store keeps its invariants.
//
// The package contains tests only.
package crashtest
