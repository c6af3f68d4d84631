package catalog

// Withheld is what a fetched list says of how to reach a provider or model and what only the facts in the binary and
// the user's configuration may say: the address that receives prompts and keys, and the variables that hold a key.
type Withheld struct {
	URL string
	Env []string
}
