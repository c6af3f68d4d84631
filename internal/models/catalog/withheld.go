package catalog

// Withheld holds the fields of a provider or model that a fetched list may not set, because only the facts in the
// binary and the user's configuration may: the address that receives prompts and keys, and the variables that hold a
// key.
type Withheld struct {
	URL string
	Env []string
}
