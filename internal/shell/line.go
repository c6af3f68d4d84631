package shell

import (
	"fmt"
)

// Line is a command line whose commands and words are known.
type Line struct {
	Commands []Command // in the order of the text, at least one
}

// Command is a simple command of a Line.
type Command struct {
	Text         string   // its bytes in the line
	Assignments  []string // NAME=VALUE before its words; all are harmless
	Words        []Word   // at least one
	Redirections []Redirection
	Operator     string // what stands behind it: | && || ; & newline, or "" at the end of the line
}

// Word is an argument of a command.
type Word struct {
	// Text is the argument that the program gets, with a Hole for each $NAME and each * and ? outside of quotes.
	Text    string
	Source  string // its bytes in the line
	Literal bool   // Text is the argument: there is no $NAME, no glob and no ~
	Tilde   bool   // it begins with ~, which stands for $HOME
	// Pattern is the word for filepath.Glob if its only unknown parts are * and ?, else "".
	Pattern string
}

// Redirection opens a file for a command.
type Redirection struct {
	Operator string // < > >> or 2>, 2>>; redirections between standard output and standard error are left out
	Target   Word   // a literal word or one with a ~
}

// Unreadable says which part of a command line is not read, and how to write it. Its text is for people and the model.
type Unreadable struct {
	What   string // e.g. "a command substitution $(...)"
	Advice string // e.g. "run the inner command first and write its output here"
	Offset int    // of the part in the text, in bytes
}

func (e *Unreadable) Error() string {
	return fmt.Sprintf("contains %s at byte %d; %s", e.What, e.Offset+1, e.Advice)
}

// Advices are the ways to write what is not read.
const (
	adviceSplit   = "run the inner command first and write its output here"
	advicePlain   = "write it as simple commands joined by && || ; or |"
	adviceQuote   = "put it into single quotes"
	adviceValue   = "write the value itself"
	adviceFile    = "write the text to a file with a file tool and name that file"
	adviceCommand = "write each command with plain words"
)
