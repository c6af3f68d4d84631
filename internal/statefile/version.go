package statefile

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// CheckVersion returns an error if the text of the file is an object whose member "version" is a number beyond newest:
// a newer cairn wrote it, in a form that must not be read as this one, and not be replaced. A file without a version has
// version 1. Other values of the member are of the caller's form, and invalid JSON is the caller's to report.
func CheckVersion(path string, text []byte, newest int) error {
	d := jsontext.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() != '{' {
		return nil
	}
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() == '"' {
		var name jsontext.Token
		if name, err = d.ReadToken(); err != nil {
			break
		}
		if name.String() != "version" || d.PeekKind() != '0' {
			err = d.SkipValue()
			continue
		}
		var value jsontext.Value
		if value, err = d.ReadValue(); err != nil {
			break
		}
		if n, err := strconv.Atoi(string(value)); err != nil || n > newest {
			return fmt.Errorf("%s was written by a newer cairn: version %s, this one knows up to %d; update cairn",
				path, value, newest)
		}
	}
	return nil
}
