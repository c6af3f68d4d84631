package snapshot

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // git's names of objects
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// setHead makes HEAD a commit with the tree, so that git status lists what differs from it instead of every file.
func (g gitDir) setHead(tree string) error {
	const author = "cairn <cairn@localhost> 0 +0000\n"
	text := "tree " + tree + "\nauthor " + author + "committer " + author + "\n"
	object := fmt.Appendf(nil, "commit %d\x00%s", len(text), text)
	id := fmt.Sprintf("%x", sha1.Sum(object)) //nolint:gosec // git's names of objects
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, err := z.Write(object)
	if err = errors.Join(err, z.Close()); err != nil {
		return err
	}
	dir := filepath.Join(g.dir, "objects", id[:2])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temporary := filepath.Join(dir, "tmp_obj_"+id) // git prune removes one that is left
	if err := os.WriteFile(temporary, packed.Bytes(), 0o600); err != nil {
		return err
	}
	if err := os.Rename(temporary, filepath.Join(dir, id[2:])); err != nil {
		return err
	}
	return g.writeHead(id + "\n")
}

// noHead is the content of HEAD without a commit.
const noHead = "ref: refs/heads/none\n"

func (g gitDir) writeHead(content string) error {
	return os.WriteFile(filepath.Join(g.dir, "HEAD"), []byte(content), 0o600)
}

// listPaths returns the paths that differ from the index, and those that it does not have, each ended by a zero byte.
// Git refreshes the times in the index meanwhile.
func (g gitDir) listPaths(ctx context.Context, scope string) (modified, others []byte, err error) {
	listed, err := g.run(
		ctx, nil, "status", "-z", "--porcelain=v2", "--no-renames", "--untracked-files=all", "--ignored=no",
		"--ignore-submodules=all", "--", scope,
	)
	if err != nil {
		return nil, nil, err
	}
	return parseStatus(listed)
}

// parseStatus parses the output of git status --porcelain=v2 -z: "1 XY" and six fields, "u XY" and eight, for a
// conflict, or "?", then the path. Y is what differs from the index.
func parseStatus(listed []byte) (modified, others []byte, err error) {
	fields := map[byte]int{'1': 9, 'u': 11, '?': 2} // the path is the last one
	for line := range bytes.SplitSeq(listed, []byte{0}) {
		if len(line) == 0 {
			continue
		}
		f := bytes.SplitN(line, []byte(" "), fields[line[0]])
		if len(f) < 2 || len(f) != fields[line[0]] {
			return nil, nil, fmt.Errorf("git status printed an unknown line: %q", line)
		}
		switch path := f[len(f)-1]; {
		case line[0] == '?':
			others = append(append(others, path...), 0)
		case line[0] == 'u' || !bytes.HasSuffix(f[1], []byte(".")):
			modified = append(append(modified, path...), 0)
		}
	}
	return modified, others, nil
}
