package shell

import (
	"slices"
	"strings"
)

// onFiles work on the files that their arguments name, without reading what is in them.
var onFiles = words(
	`rm rmdir unlink shred mkdir touch chmod chown chgrp truncate stat readlink realpath du df tree ls dir vdir file find`,
)

// readers read what is in the files that their arguments name.
var readers = words(`cat bat batcat tac nl head tail less more od xxd hexdump strings base64 base32 sort uniq cut
	paste rev zcat source . diff
	comm join cp mv ln link install tar zip unzip gzip gunzip bzip2 bunzip2 xz unxz zstd lz4 7z rsync scp cmp sdiff wc
	md5sum sha1sum sha224sum
	sha256sum sha384sum sha512sum b2sum cksum sum tsort fold fmt pr expand unexpand shuf split csplit column look
	grep egrep fgrep zgrep rgrep ugrep rg ag ack ack-grep sed gsed awk gawk mawk nawk jq yq tr dd openssl gpg age
	iconv dos2unix pandoc`)

// patterned take something else than a file first, unless an option says it.
var patterned = words("grep egrep fgrep zgrep rgrep ugrep ack-grep rg ag ack sed gsed awk gawk mawk nawk jq yq tr")

// blind read no files that their arguments name.
var blind = words(`echo printf test [ kill pkill sleep type which hash command basename dirname printenv export
	unset read shift getopts seq
	date id whoami hostname uname ps pgrep jobs fg bg wait exit return trap alias unalias true false`)

// blindGit are commands of git that show nothing of the files that they are given.
var blindGit = words(`add rm mv checkout restore switch commit status reset branch tag push fetch pull clone
	ls-files check-ignore rev-parse
	config remote init clean worktree`)

// writers change what their arguments name; lastly the last of them only.
var (
	writers = words(`rm rmdir unlink shred truncate touch mkdir chmod chown chgrp mv patch dd curl wget tar unzip uniq
	split csplit openssl gpg age xxd iconv
		shuf zip gzip gunzip bzip2 bunzip2 xz unxz zstd lz4 7z dos2unix pandoc yq`)
	lastly = words("cp install rsync scp")
	// links give a file another name, under which it is changed as well.
	links = words("ln link")
)

// scripted are commands whose arguments are read in their own way, with the paths in them.
var scripted = words("sh bash dash ash rbash eval trap alias tee")

// useOf is what a program does with the files among its arguments.
func useOf(name string, args []string) Use {
	_, wraps := wrappers[name]
	_, interprets := inline[name]
	switch {
	case readers[name]:
		return Read
	case onFiles[name]:
		return File
	case blind[name], name == "git" && len(args) > 0 && blindGit[args[0]]:
		return Named
	case name == "git", wraps, interprets:
		return Given
	default:
		return Handed
	}
}

// paths notes what of the arguments may be paths.
func (r *reader) paths(c call, name string, args []string) {
	if scripted[name] {
		return
	}
	use := useOf(name, args)
	mention := use // of what stands behind an option or a mark
	if use == File {
		mention = Named
	} else if use == Read {
		mention = Given
	}
	for i, a := range args {
		if use == Read && i == len(args)-1 && i > 0 && (lastly[name] || links[name] || name == "mv") && !targeted(args) {
			use = File
		}
		switch {
		case strings.HasPrefix(a, "--"):
			if _, value, ok := strings.Cut(a, "="); ok {
				r.mentioned(value, mention)
			}
		case strings.HasPrefix(a, "-"):
			if len(a) > 2 {
				r.mentioned(a[2:], mention)
			}
		default:
			r.argument(a, use)
			if _, value, ok := strings.Cut(a, "="); ok {
				r.mentioned(value, mention)
			}
			if file, ok := strings.CutPrefix(a, "@"); ok {
				r.argument(file, mention)
			}
			// as git names files
			if i := strings.LastIndexByte(a, ':'); i >= 0 && (mention == Given || mention == Handed) &&
				!strings.Contains(a, "//") {
				r.argument(a[i+1:], mention)
			}
		}
	}
	r.changed(c, name, args)
	r.descend(c, name, args)
}

// targeted reports that an option says where to, so that the last argument is read as well.
func targeted(args []string) bool {
	for _, a := range args {
		if strings.HasPrefix(a, "-t") || strings.HasPrefix(a, "--t") {
			return true
		}
	}
	return false
}

// mentioned notes what stands behind an option; @ is how some say that it is a file.
func (r *reader) mentioned(value string, use Use) {
	r.argument(value, use)
	if i := strings.LastIndexAny(value, "@<="); i >= 0 {
		r.argument(value[i+1:], use)
	}
}

func (r *reader) argument(a string, use Use) {
	if a == "" || use == Named && !looksLikePath(a) {
		return
	}
	r.path(a, use)
}

func looksLikePath(a string) bool {
	return strings.HasPrefix(a, "~") || strings.HasPrefix(a, ".") || strings.Contains(a, "/")
}

// changed notes what a program that is known to write is given.
func (r *reader) changed(c call, name string, args []string) {
	if !writers[name] && !lastly[name] && !links[name] && !(name == "sed" || name == "gsed") {
		return
	}
	for _, a := range args[:operandsEnd(args)] {
		if !known(a) && (c.isFree(a) && strings.HasPrefix(a, Hole) || slices.Contains(c.several, a)) &&
			(writers[name] || lastly[name] || links[name]) {
			r.anywhere = true // it may be an option that says where to, or another word
		}
	}
	inPlace := false
	for i, a := range args {
		switch {
		case name == "sed" || name == "gsed":
			inPlace = inPlace || strings.HasPrefix(a, "--in-place") ||
				strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "i")
			if inPlace && !strings.HasPrefix(a, "-") {
				r.change(c, a)
			}
		case lastly[name] && i < len(args)-1 && !strings.HasPrefix(a, "-"):
			if i > 0 && targeted(args[i-1:i]) {
				r.change(c, a)
			}
		case strings.HasPrefix(a, "-"):
			if _, value, ok := strings.Cut(a, "="); ok {
				r.change(c, value)
			} else if len(a) > 2 && !strings.HasPrefix(a, "--") {
				r.change(c, a[2:])
			}
		default:
			r.change(c, a)
			if value, ok := strings.CutPrefix(a, "of="); ok {
				r.change(c, value)
			}
		}
	}
}

// reads returns what a reading program may read that is not known beforehand, as texts with holes.
func reads(name string, args []string) (out []string) {
	if !readers[name] {
		return nil
	}
	operands, options := 0, true
	skip := patterned[name] && !givesPattern(args)
	for i, a := range args {
		switch {
		case options && a == "--":
			options = false
		case options && strings.HasPrefix(a, "-"):
			if _, value, ok := strings.Cut(a, "="); ok && !known(value) {
				out = append(out, value)
			}
		case i > 0 && options && takesNumber(name, args[i-1]):
		default:
			if operands++; !known(a) && !(skip && operands == 1) &&
				!((lastly[name] || links[name] || name == "mv") && i == len(args)-1 && operands > 1 && !targeted(args)) {
				out = append(out, strings.TrimPrefix(a, "if="))
			}
		}
	}
	return out
}

// givesPattern reports an option that says what else would come first.
func givesPattern(args []string) bool {
	for _, a := range args {
		if a == "-e" || a == "-f" || strings.HasPrefix(a, "--regexp") || strings.HasPrefix(a, "--file") ||
			strings.HasPrefix(a, "--expression") || strings.HasPrefix(a, "--files") {
			return true
		}
	}
	return false
}

// takesNumber reports an option behind which a count stands, not a file.
func takesNumber(name, option string) bool {
	switch name {
	case "head", "tail":
		return option == "-n" || option == "-c"
	case "grep", "egrep", "fgrep", "rg":
		return option == "-m" || option == "-A" || option == "-B" || option == "-C"
	case "cut":
		return option == "-d" || option == "-f" || option == "-c"
	default:
		return false
	}
}
