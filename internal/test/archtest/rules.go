package archtest

// Rule is a named check of the tree.
type Rule struct {
	Name  string
	Check func(*Tree) []Finding
}

// Rules returns all rules: imports first, then names, sizes and documents.
func Rules() []Rule {
	return []Rule{
		{"order", checkOrder},
		{"drivers", checkDrivers},
		{"views", checkViews},
		{"append", checkAppend},
		{"locations", checkLocations},
		{"words", checkWords},
		{"tests", checkTestLayer},
		{"bans", checkBans},
		{"shapes", checkShapes},
		{"sizes", checkSizes},
		{"package docs", checkPackageDocs},
		{"walk", checkWalk},
		{"links", checkLinks},
		{"papers", checkPapers},
		{"spec", checkSpec},
	}
}
