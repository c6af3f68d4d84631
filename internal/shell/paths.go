package shell

import "strings"

// onFiles work on the files that their arguments name.
var onFiles = words(`rm rmdir unlink shred cp mv ln link mkdir touch chmod chown chgrp install truncate stat readlink realpath du df tree
	tar zip unzip gzip gunzip rsync scp ls dir vdir file find diff cmp source . cat bat tac nl head tail less more od xxd hexdump strings
	base64 md5sum sha1sum sha256sum sha512sum wc sort uniq cut paste rev tsort comm join zcat`)

// readers print what is in files.
var readers = words(`cat bat tac nl head tail less more od xxd hexdump strings base64 sort uniq cut paste rev zcat source . diff comm join`)

// scripted are commands whose arguments are read in their own way, with the paths in them.
var scripted = words("sh bash dash ash rbash eval trap alias tee")

// paths notes what of the arguments may be paths.
func (r *reader) paths(name string, args []string) {
	use := Named
	if scripted[name] {
		return
	}
	switch {
	case readers[name]:
		use = Read
	case onFiles[name]:
		use = File
	}
	for _, a := range args {
		switch {
		case strings.HasPrefix(a, "--"):
			if _, value, ok := strings.Cut(a, "="); ok {
				r.argument(value, Named)
			}
		case strings.HasPrefix(a, "-"):
			if len(a) > 2 {
				r.argument(a[2:], Named)
			}
		default:
			r.argument(a, use)
			if _, value, ok := strings.Cut(a, "="); ok {
				r.argument(value, Named)
			}
			if file, ok := strings.CutPrefix(a, "@"); ok {
				r.argument(file, Named)
			}
		}
	}
}

func (r *reader) argument(a string, use Use) {
	if a == "" || use == Named && !strings.HasPrefix(a, "/") && !strings.HasPrefix(a, "~") && !strings.HasPrefix(a, ".") && !strings.Contains(a, "/") {
		return
	}
	r.path(a, use)
}
