package admit

// NameSlug returns a short name for people, adjective-noun, derived from the id.
func NameSlug(id string) string {
	h := uint32(2166136261) // FNV-1a
	for _, c := range []byte(id) {
		h = (h ^ uint32(c)) * 16777619
	}
	return adjectives[int(h%uint32(len(adjectives)))] + "-" + nouns[int((h/997)%uint32(len(nouns)))]
}

var (
	adjectives = [...]string{
		"amber", "bold", "brisk", "calm", "clear", "crisp", "dapper", "eager", "fair", "fleet", "gentle",
		"glad", "golden", "keen", "kind", "lively", "lucid", "mellow", "merry", "neat", "nimble", "patient",
		"plain", "quiet", "sharp", "steady", "swift", "tidy", "warm",
	}
	nouns = [...]string{
		"anchor", "arch", "beacon", "birch", "brook", "cairn", "cedar", "cliff", "comet", "cove", "delta",
		"dune", "ember", "falcon", "fern", "field", "forge", "grove", "harbor", "heron", "lantern", "ledge",
		"maple", "meadow", "otter", "pebble", "pine", "ridge", "river", "stone", "willow",
	}
)
