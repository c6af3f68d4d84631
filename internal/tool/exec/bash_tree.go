package exec

import (
	"sync"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// readTree returns the directory for rules about the files below it, and if the command follows links, for rules about
// the directories outside to which they lead. The files are listed at most once, when a rule needs them.
func (s *execTools) readTree(p workpath.Path, follows bool) []permission.Tree {
	list := sync.OnceValue(func() workpath.FileTree { return s.config.Paths.ListTree(p) })
	trees := []permission.Tree{{Action: "read", Dir: p.Resource(), Files: func() ([]string, bool) {
		return list().Files, list().Complete
	}}}
	if follows {
		trees = append(trees, permission.Tree{Action: "external_directory", Files: func() ([]string, bool) {
			return list().Outside, list().Complete && list().Within
		}})
	}
	return trees
}
