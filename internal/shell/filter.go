package shell

import (
	"regexp"
	"strings"
)

// awk reads awk: a program that can run commands or write files may do anything.
func (r *reader) awk(c call) {
	for i := 1; i < len(c.words); i++ {
		w := c.words[i]
		switch {
		case w == "-F" || w == "-v":
			i++
			continue
		case w == "--", strings.HasPrefix(w, "-F"), strings.HasPrefix(w, "-v"):
			continue
		case strings.HasPrefix(w, "-"):
			r.unknown()
		default:
			program := strings.ReplaceAll(w, "||", "")
			if !known(w) || strings.Contains(program, "system") || strings.ContainsAny(program, "|@") ||
				strings.Contains(program, "getline") || strings.Contains(program, "ARGV") ||
				strings.Contains(program, "print") && strings.Contains(program, ">") {
				r.unknown()
			}
		}
		break
	}
	r.itself(c)
}

var (
	sedPlain      = regexp.MustCompile(`^((\d+|\$|/[^/;{}]*/)(,(\d+|\$|/[^/;{}]*/|\+\d+))?)?!?[pdqDPhHgGxnN=]?$`)
	sedSubstitute = regexp.MustCompile(`^((\d+|\$)(,(\d+|\$))?)?s(.)`)
)

// sed reads sed: a script may run commands and write files.
func (r *reader) sed(c call) {
	scripts, plain := []string{}, []string{}
	for i := 1; i < len(c.words); i++ {
		switch w := c.words[i]; {
		case w == "-e" || w == "--expression":
			if i++; i < len(c.words) {
				scripts = append(scripts, c.words[i])
			}
		case strings.HasPrefix(w, "--expression="):
			scripts = append(scripts, strings.TrimPrefix(w, "--expression="))
		case w == "--in-place" || w == "--quiet" || w == "--silent" || w == "--regexp-extended" || w == "--" ||
			strings.HasPrefix(w, "-i"):
		case strings.HasPrefix(w, "-") && strings.Trim(w, "-nErsuz") == "":
		case strings.HasPrefix(w, "-") || strings.HasPrefix(w, Hole):
			r.unknown()
		default:
			plain = append(plain, w)
		}
	}
	if len(scripts) == 0 && len(plain) > 0 {
		scripts = plain[:1]
	}
	for _, s := range scripts {
		if !sedHarmless(s) {
			r.unknown()
		}
	}
	r.itself(c)
}

func sedHarmless(script string) bool {
	if !known(script) || strings.Contains(script, "\n") {
		return false
	}
	for _, s := range strings.Split(script, ";") {
		s = strings.TrimSpace(s)
		if sedPlain.MatchString(s) {
			continue
		}
		m := sedSubstitute.FindStringSubmatchIndex(s)
		if m == nil {
			return false
		}
		delimiter := s[m[1]-1 : m[1]]
		fields := strings.Split(s[m[1]:], delimiter)
		if len(fields) != 3 || strings.HasSuffix(fields[0], `\`) || strings.HasSuffix(fields[1], `\`) ||
			strings.Trim(fields[2], "gpiI0123456789") != "" {
			return false
		}
	}
	return true
}

// tee reads tee, which writes as a redirection does.
func (r *reader) tee(c call) {
	for _, w := range c.words[1:] {
		switch {
		case !known(w):
			r.unknown()
			r.write(c, w)
		case !strings.HasPrefix(w, "-"):
			r.write(c, w)
		}
	}
	r.itself(c)
}
