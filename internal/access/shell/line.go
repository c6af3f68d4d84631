package shell

import (
	"fmt"
)

// Line is a plain command line: its commands and words are known.
type Line struct {
	Commands []Command // in the order of the text, at least one
}

// Command is a simple command of a Line.
type Command struct {
	Text         string // its bytes in the line
	Words        []Word // at least one
	Redirections []Redirection
	Operator     string // what stands behind it: | && || ; newline, or "" at the end of the line
}

// Word is an argument of a command.
type Word struct {
	Text    string // the argument that the program gets, with a Placeholder for each * and ? outside of quotes
	Source  string // its bytes in the line
	Literal bool   // Text is the argument: it has no Placeholder
}

// Redirection opens a file for a command.
type Redirection struct {
	Operator string // < > >> or 2>, 2>>; redirections between standard output and standard error are left out
	Target   Word   // a literal word
}

// NotPlainError says which part of a command line is not plain, and how to write it instead. Its text is for people and
// the model.
type NotPlainError struct {
	What   string // e.g. "a command substitution $(...)"
	Advice string // e.g. "run the inner command first and write its output here"
	Offset int    // of the part in the text, in bytes
}

func (e *NotPlainError) Error() string {
	return fmt.Sprintf("contains %s at byte %d; %s", e.What, e.Offset+1, e.Advice)
}

// Advice for parts of a line that are not plain.
const (
	adviceSplit   = "run the inner command first and write its output here"
	advicePlain   = "write it as simple commands joined by && || ; or |"
	adviceQuote   = "put it into single quotes"
	adviceValue   = "write the value itself, or put it into single quotes"
	adviceFile    = "write the text to a file with a file tool and name that file"
	adviceCommand = "write each command with plain words"
)
