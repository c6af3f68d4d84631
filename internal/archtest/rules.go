package archtest

// Rule is a named check of the tree.
type Rule struct {
	Name  string
	Check func(*Tree) []Finding
}

// Rules returns all rules: imports first, then names, sizes and documents.
func Rules() []Rule {
	return []Rule{
		{"floors", checkFloors},
		{"drivers", checkDrivers},
		{"views", checkViews},
		{"append", checkAppend},
		{"below the loop", checkBelowLoop},
		{"words", checkWords},
		{"proofs", checkProofs},
		{"bans", checkBans},
		{"package names", checkPackageNames},
		{"package docs", checkPackageDocs},
		{"verbs", checkVerbs},
		{"type names", checkTypeNames},
		{"citations", checkCitations},
		{"sizes", checkSizes},
		{"package size", checkPackageSize},
		{"method sets", checkMethodSets},
		{"shapes", checkShapes},
		{"producers", checkProducers},
		{"counts", checkCounts},
		{"walk", checkWalk},
		{"links", checkLinks},
		{"papers", checkPapers},
		{"spec", checkSpec},
	}
}
