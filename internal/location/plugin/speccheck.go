package plugin

import "fmt"

// check returns an error if the files of the plugin have changed since it was resolved: others than those that were
// trusted would run.
func (s *Spec) check() error {
	again, err := Spec{File: s.File, Package: s.Package}, error(nil)
	if s.Package != "" {
		again.Stamp, err = hashTree(s.Package)
	} else {
		err = again.resolveFile()
	}
	if err == nil && again.Stamp != s.Stamp {
		err = fmt.Errorf("the plugin %s has changed while cairn ran; it is loaded again with the next prompt", s.ID)
	}
	return err
}
