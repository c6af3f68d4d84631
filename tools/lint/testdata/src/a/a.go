package a

import (
	"errors"
	"io"
)

func work() error { return errors.New("x") }

func lost(c io.Closer) {
	work()    // want `unchecked error`
	c.Close() // want `unchecked error`
}

func spared(c io.Closer) {
	defer c.Close()
	_ = work()
}

func notSpared(c io.Closer) {
	defer work() // want `unchecked error`
	defer func() {
		c.Close() // want `unchecked error`
	}()
}
