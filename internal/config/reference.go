package config

// checkReferences reports references that agents are not told of.
func (l *loader) checkReferences() {
	for _, r := range l.config.root.get("references").allMembers() {
		key, why := "references."+r.key, ""
		switch {
		case r.value.kind != '{':
			why = "an agent is told of a reference with a description only: write path and description"
		case r.value.get("path") == nil && r.value.get("repository") != nil:
			why = "cairn does not clone repositories: clone it, and write the path of the clone"
		case r.value.get("path") == nil:
			why = "it has no path"
		case r.value.get("description") == nil:
			why = "an agent is told of a reference with a description only"
		default:
			continue
		}
		l.addWarning(r.value.position(), WarnUnused, key, "has no effect: "+why)
	}
}
